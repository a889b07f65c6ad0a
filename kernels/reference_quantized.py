"""Matrix products with quantized weights in plain torch: what the stored numbers mean, and how they are made.

Beside `reference`, whose conventions these share. Quantization is round to nearest. int8 has one scale a row (arXiv
2208.07339); int4 has a scale and a zero for every group of columns (arXiv 2212.09720), stored in the dtype of the
weights.
"""

from __future__ import annotations

import torch
from torch import Tensor


def quantize_int8(weight: Tensor) -> tuple[Tensor, Tensor]:
    """Weight [O, I] -> int8 [O, I] in -127..127 and scale [O] float32. A row of zeros has the scale 1."""
    largest = weight.float().abs().amax(1)
    scale = torch.where(largest > 0, largest / 127, torch.ones_like(largest))
    return (weight.float() / scale[:, None]).round().to(torch.int8), scale


def int8_linear(x: Tensor, weight: Tensor, scale: Tensor) -> Tensor:
    """Multiply x [T, I] by the transpose of weight [O, I] int8, whose rows count `scale` [O] times: [T, O]."""
    return x @ weight.to(x.dtype).T * scale.to(x.dtype)


def quantize_int4(weight: Tensor, group: int) -> tuple[Tensor, Tensor, Tensor]:
    """Weight [O, I] -> packed uint8 [O, I / 2], scale and zero [O, I / group]: `int4_levels`, two to a byte.

    Within a group, byte j holds column j in its low half and column j + group / 2 in its high half.
    """
    levels, scale, zero = int4_levels(weight, group)
    first, second = levels.split(group // 2, dim=2)
    return (first | second << 4).flatten(1), scale, zero


def int4_levels(weight: Tensor, group: int) -> tuple[Tensor, Tensor, Tensor]:
    """Weight [O, I] -> levels uint8 [O, I / group, group], scale and zero [O, I / group] in the weight's dtype.

    A group's 16 levels reach from its least to its largest weight: level Q stands for (Q - 8) * scale + zero. Levels
    are chosen for the scale and zero as stored. Of a group of equal weights, all are its zero.

    Raises ValueError if the group is odd or does not divide the width.
    """
    n_rows, width = weight.shape
    if group % 2 or width % group:
        raise ValueError(f"groups of {group} columns do not divide a width of {width} evenly, or have no halves")
    groups = weight.view(n_rows, width // group, group).to(torch.float32, copy=True)
    low, high = groups.amin(2), groups.amax(2)
    step = ((high - low) / 15).to(weight.dtype)
    scale = torch.where(step > 0, step, torch.ones_like(step))
    zero = (low + 8 * step.float()).to(weight.dtype)
    levels = groups.sub_(zero.float()[..., None]).div_(scale.float()[..., None]).add_(8).round_().clamp_(0, 15)
    return levels.to(torch.uint8), scale, zero


def dequantize_int4(packed: Tensor, scale: Tensor, zero: Tensor, dtype: torch.dtype) -> Tensor:
    """Weights [O, I] of the dtype, from `quantize_int4`'s results."""
    pairs = packed.view(*scale.shape, -1)
    levels = torch.cat([pairs & 15, pairs >> 4], dim=2).to(dtype)
    return ((levels - 8) * scale.to(dtype)[..., None] + zero.to(dtype)[..., None]).flatten(1)


def int4_linear(x: Tensor, packed: Tensor, scale: Tensor, zero: Tensor) -> Tensor:
    """Multiply x [T, I] by the transpose of the weights that `quantize_int4` packed: [T, O]."""
    return x @ dequantize_int4(packed, scale, zero, x.dtype).T
