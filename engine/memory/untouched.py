"""Zeros that cost nothing until they are written: a pool is sized for a full house and mostly stands empty."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor


def untouched(shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
    """Zeros [shape] that the operating system hands out page by page as they are touched; torch.zeros touches all."""
    if 0 in shape:  # a model without such layers
        return torch.zeros(shape, dtype=dtype)
    raw = np.zeros(math.prod(shape) * dtype.itemsize, dtype=np.uint8)
    return torch.from_numpy(raw).view(dtype).view(shape)
