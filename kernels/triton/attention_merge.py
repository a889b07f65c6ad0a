"""Put together the shares of a split softmax, and apply the output gate, if any: the second half of `attention_decode`.

Share s has the largest score m_s of its positions (base-2 logs), the sum l_s of 2^{score - m_s}, and the sum acc_s of
2^{score - m_s} v. On a common scale m = max m_s they simply add up:

    o = (sum of 2^{m_s - m} acc_s) / (sum of 2^{m_s - m} l_s) * sigmoid(gate)

An empty share has m_s = -inf, and so the weight 0. The first share of a sequence is never empty.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor


@triton.jit
def _attention_merge(
    largest: tl.tensor,  # [B, Hq, SPLITS]
    total: tl.tensor,  # [B, Hq, SPLITS]
    acc: tl.tensor,  # [B, Hq, SPLITS, D]
    gate: tl.tensor | None,  # [B, Hq * D]
    out: tl.tensor,  # [B, Hq * D], written
    gate_stride: tl.tensor,  # elements from a row of the gate to the next
    n_heads: tl.tensor,  # Hq
    SPLITS: tl.constexpr,
    D: tl.constexpr,
    BLOCK_D: tl.constexpr,  # at least D
) -> None:
    row, head = tl.program_id(0).to(tl.int64), tl.program_id(1)
    dims = tl.arange(0, BLOCK_D)
    part = (row * n_heads + head) * SPLITS + tl.arange(0, SPLITS)
    m = tl.load(largest + part)
    weights = tl.exp2(m - tl.max(m, axis=0))
    l_sum = tl.sum(tl.load(total + part) * weights, axis=0)
    shares = tl.load(acc + part[:, None] * D + dims[None, :], mask=(dims < D)[None, :], other=0.0)
    result = tl.sum(shares * weights[:, None], axis=0) / l_sum
    if gate is not None:
        z = tl.load(gate + row * gate_stride + head * D + dims, mask=dims < D, other=0.0).to(tl.float32)
        result *= tl.sigmoid(z)
    tl.store(out + (row * n_heads + head) * D + dims, result, mask=dims < D)


def attention_merge(largest: Tensor, total: Tensor, acc: Tensor, gate: Tensor | None, dtype: torch.dtype) -> Tensor:
    """Shares [B, Hq, splits] and [B, Hq, splits, D], gate [B, Hq * D] -> outputs [B, Hq * D] of the dtype."""
    n_sequences, n_heads, splits, dim = acc.shape
    out = torch.empty((n_sequences, n_heads * dim), dtype=dtype, device=acc.device)
    _attention_merge[(n_sequences, n_heads)](
        largest, total, acc, gate, out, 0 if gate is None else gate.stride(0), n_heads,
        SPLITS=splits, D=dim, BLOCK_D=triton.next_power_of_2(dim), num_warps=4,
    )  # fmt: skip
    return out
