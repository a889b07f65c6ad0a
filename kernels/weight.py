"""What a product takes for its weight [out, in]: a plain matrix, or one in the order that some device reads fastest."""

from torch import Tensor

from kernels.panels import PanelMatrix
from kernels.quantized import PackedMatrix
from kernels.quantized_rows import QuantizedRows

Quantized = PackedMatrix | QuantizedRows
Weight = Tensor | PanelMatrix | Quantized
