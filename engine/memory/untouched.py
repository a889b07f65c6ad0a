"""Zeros that cost nothing until they are written: a pool is sized for a full house and mostly stands empty."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

CPU = torch.device("cpu")


def untouched(shape: tuple[int, ...], dtype: torch.dtype, device: torch.device) -> Tensor:
    """Zeros [shape] that the operating system hands out page by page as they are touched; torch.zeros touches all.

    On another device than the CPU they are all there at once.
    """
    if 0 in shape or device.type != "cpu":  # a model without such layers
        return torch.zeros(shape, dtype=dtype, device=device)
    raw = np.zeros(math.prod(shape) * dtype.itemsize, dtype=np.uint8)
    return torch.from_numpy(raw).view(dtype).view(shape)
