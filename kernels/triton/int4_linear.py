"""Matrix-vector product with int4 weights in groups, each with a scale and a zero (small blocks: arXiv 2212.09720).

    w_oi = (Q_oi - 8) s_og + z_og,     Q in 0..15, g the group of column i;      y_o = sum over i of w_oi x_i

With groups of 64 and 16-bit scales and zeros a weight takes 4.5 bits: where reading weights is what takes the time,
the floor is 3.6 times lower than with 16. A byte holds columns i and i + G/2 of a group of G: its low
and high halves each belong to a contiguous stretch of x. Weights are rebuilt in registers, both halves at once, and
multiplied as in `int8_linear`, whose division into programs this shares.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor


@triton.jit
def _int4_linear(
    x: tl.tensor,  # [T, I]
    packed: tl.tensor,  # [O, I / 2] uint8
    scale: tl.tensor,  # [O, I / GROUP]
    zero: tl.tensor,  # [O, I / GROUP]
    out: tl.tensor,  # [T, O], written
    x_stride: tl.tensor,  # elements from a row of x to the next
    n_tokens: tl.tensor,  # T
    width: tl.tensor,  # I
    n_outputs: tl.tensor,  # O
    GROUP: tl.constexpr,
    BLOCK_T: tl.constexpr,
    BLOCK_O: tl.constexpr,
    BLOCK_B: tl.constexpr,  # bytes of a row at a time
) -> None:
    tokens = tl.program_id(1) * BLOCK_T + tl.arange(0, BLOCK_T).to(tl.int64)
    rows = tl.program_id(0) * BLOCK_O + tl.arange(0, BLOCK_O).to(tl.int64)
    has_token, has_row = (tokens < n_tokens)[:, None], (rows < n_outputs)[:, None]
    partial = tl.zeros([BLOCK_T, BLOCK_O, BLOCK_B], tl.float32)
    for start in range(0, width // 2, BLOCK_B):
        at = start + tl.arange(0, BLOCK_B)
        inside = (at < width // 2)[None, :]
        group = at // (GROUP // 2)
        low_column = group * GROUP + at % (GROUP // 2)
        x_at = x + tokens[:, None] * x_stride + low_column[None, :]
        x_low = tl.load(x_at, mask=has_token & inside, other=0.0).to(tl.float32)
        x_high = tl.load(x_at + GROUP // 2, mask=has_token & inside, other=0.0).to(tl.float32)
        pair = tl.load(packed + rows[:, None] * (width // 2) + at[None, :], mask=has_row & inside, other=0).to(tl.int32)
        group_at = rows[:, None] * (width // GROUP) + group[None, :]
        s = tl.load(scale + group_at, mask=has_row & inside, other=0.0).to(tl.float32)
        z = tl.load(zero + group_at, mask=has_row & inside, other=0.0).to(tl.float32)
        low = ((pair & 15) - 8).to(tl.float32) * s + z
        high = ((pair >> 4) - 8).to(tl.float32) * s + z
        partial += x_low[:, None, :] * low[None, :, :] + x_high[:, None, :] * high[None, :, :]
    inside = has_token & (rows < n_outputs)[None, :]
    tl.store(out + tokens[:, None] * n_outputs + rows[None, :], tl.sum(partial, axis=2), mask=inside)


def int4_linear(x: Tensor, packed: Tensor, scale: Tensor, zero: Tensor) -> Tensor:
    """See `reference_quantized.int4_linear`: x [T, I], packed [O, I / 2], scale and zero [O, groups] -> [T, O].

    Meant for few tokens: they share a reading of the weights up to 8 at a time.
    """
    (n_tokens, width), n_outputs = x.shape, len(packed)
    block_t = min(8, triton.next_power_of_2(n_tokens))
    block_o = 4 if block_t <= 2 else 2
    out = torch.empty((n_tokens, n_outputs), dtype=x.dtype, device=x.device)
    _int4_linear[(triton.cdiv(n_outputs, block_o), triton.cdiv(n_tokens, block_t))](
        x, packed, scale, zero, out, x.stride(0), n_tokens, width, n_outputs,
        GROUP=width // scale.shape[1], BLOCK_T=block_t, BLOCK_O=block_o,
        BLOCK_B=min(256, triton.next_power_of_2(width // 2)), num_warps=4,
    )  # fmt: skip
    return out
