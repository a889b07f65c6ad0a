"""In which number format a kernel's matrix products run. Everything else in the kernels is float32.

Every kernel converts to float32 right after a load. That is accurate, and it is also the one form that Triton's
interpreter computes rightly for bfloat16, which it keeps as bare 16-bit integers.
"""

from typing import Any

import torch
import triton
import triton.language as tl

INTERPRETED: bool = triton.knobs.runtime.interpret
"""Whether the kernels run under Triton's interpreter, on the CPU (TRITON_INTERPRET=1 when triton was imported)."""

_HALF = {torch.float16: tl.float16, torch.bfloat16: tl.bfloat16}


def dot_type(dtype: torch.dtype) -> Any:
    """The type that both sides of a `tl.dot` are rounded to, from the dtype of what is in memory.

    Half precision stays, for the tensor cores; sums are float32 always. The interpreter cannot multiply bfloat16, so
    there it is float32.
    """
    if INTERPRETED and dtype == torch.bfloat16:
        return tl.float32
    return _HALF.get(dtype, tl.float32)


def dot_precision(dtype: torch.dtype) -> str:
    """How a `tl.dot` of float32 operands multiplies on tensor cores, which take 10 bits of fraction ("tf32").

    Operands that came from half precision lose nothing by that that they had. For float32 data torch's own switch
    decides, as it does for torch's matrix products (`torch.set_float32_matmul_precision`): by default "tf32x3", which
    splits each operand in two and multiplies three times, for nearly all of float32's accuracy. The interpreter
    multiplies exactly in either case.
    """
    if dtype in _HALF or torch.get_float32_matmul_precision() != "highest":
        return "tf32"
    return "tf32x3"
