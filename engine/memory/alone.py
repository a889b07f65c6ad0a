"""Filling and copying on the calling thread alone.

torch shares what has more than 32,768 numbers among OpenMP's threads. These go on spinning for some milliseconds
afterwards, on the cores that the kernels' own threads compute on: the step after a copy of 100,000 numbers took twice
its time. NumPy has no threads.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


def put(to: Tensor, numbers: Tensor) -> Tensor:
    """Write the numbers of one tensor into another of the same shape and dtype, which is returned."""
    if to.device.type != "cpu":
        return to.copy_(numbers)
    np.copyto(_array(to), _array(numbers))
    return to


def clear(to: Tensor) -> None:
    """Write zeros."""
    if to.device.type != "cpu":
        to.zero_()
    else:
        _array(to).fill(0)


def _array(tensor: Tensor) -> NDArray[Any]:
    """The same memory as an array; bfloat16, which NumPy lacks, as whole numbers of its size."""
    return (tensor.view(torch.int16) if tensor.dtype == torch.bfloat16 else tensor).numpy()
