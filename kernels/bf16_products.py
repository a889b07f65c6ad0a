"""Products of many tokens with bfloat16 weights, on processors that multiply bfloat16 by themselves.

There torch hands them to a library (oneDNN) that knows the instructions, and activations are rounded to bfloat16 for
it, as they are in other engines. On two cores of such a processor (AVX-512 with BF16) it did 390 GFLOP/s with 16
tokens, 670 with 64 and 860 with 256, near or above what float32 can reach there at all. Where a processor lacks them,
the library is many times slower than the C++ operations. So this is for long prompts on new processors; all else
keeps float32 activations.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.weight import Weight

LEAST_ROWS = 64
"""Tokens from which on the rounding is worth its speed: never a decode step of a few requests, nor drafts."""


def fit(n_rows: int, weight: Weight) -> bool:
    """Whether the product is one for this module, where the processor has the instructions."""
    return n_rows >= LEAST_ROWS and isinstance(weight, Tensor) and weight.dtype == torch.bfloat16


def norm_linear(x: Tensor, scale: Tensor, eps: float, weight: Tensor) -> Tensor:
    """See `reference.norm_linear`."""
    return F.linear(F.rms_norm(x, scale.shape, scale, eps).bfloat16(), weight).float()


def linear_add(out: Tensor, x: Tensor, weight: Tensor) -> None:
    """See `reference.linear_add`."""
    out.add_(F.linear(x.bfloat16(), weight))


def swiglu_linear_add(out: Tensor, gate_up: Tensor, weight: Tensor) -> None:
    """See `reference.swiglu_linear_add`."""
    gate, up = gate_up.chunk(2, dim=1)
    out.add_(F.linear(F.silu(gate).mul_(up).bfloat16(), weight))
