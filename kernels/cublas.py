"""The matrix products of a model on a GPU, by the vendor's library through torch. The kernels around them are `kernels.triton`."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor


def linear(x: Tensor, weight: Tensor) -> Tensor:
    """See `reference.linear`: multiplied in the weight's dtype, returned in that of x."""
    return F.linear(x.to(weight.dtype), weight).to(x.dtype)


def linear_add(out: Tensor, x: Tensor, weight: Tensor) -> None:
    """See `reference.linear_add`: the product in the weight's dtype, the sum in that of out."""
    out += F.linear(x.to(weight.dtype), weight)
