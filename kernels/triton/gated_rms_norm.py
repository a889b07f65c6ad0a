"""The gated norm at the end of a Gated DeltaNet mixer (arXiv 2412.06464): RMSNorm over each head, times silu of a
gate.

    y = x / sqrt(mean x^2 + eps) * w * z * sigmoid(z)

The weight w is plain here, one for all heads, while the other norms of these checkpoints are zero-centred. One
program has one head of one token. The gate is a slice of the mixer's input projection and is read where it lies.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor


@triton.jit
def _gated_rms_norm(
    x: tl.tensor,  # [T, H, V]
    gate: tl.tensor,  # [T, H * V]
    weight: tl.tensor,  # [V]
    out: tl.tensor,  # [T, H * V]
    gate_stride: tl.tensor,  # elements from a row of the gate to the next
    n_heads: tl.tensor,  # H
    width: tl.tensor,  # V
    eps: tl.tensor,
    BLOCK: tl.constexpr,  # at least V
) -> None:
    token, head = tl.program_id(0).to(tl.int64), tl.program_id(1)
    columns = tl.arange(0, BLOCK)
    inside = columns < width
    place = (token * n_heads + head) * width + columns
    values = tl.load(x + place, mask=inside, other=0.0).to(tl.float32)
    z = tl.load(gate + token * gate_stride + head * width + columns, mask=inside, other=0.0).to(tl.float32)
    scale = tl.load(weight + columns, mask=inside, other=0.0).to(tl.float32)
    normed = values * tl.rsqrt(tl.sum(values * values, axis=0) / width + eps) * scale
    tl.store(out + place, normed * z * tl.sigmoid(z), mask=inside)


def gated_rms_norm(x: Tensor, gate: Tensor, weight: Tensor, eps: float) -> Tensor:
    """See `reference.gated_rms_norm`: x [T, H, V], gate [T, H * V] -> [T, H * V]."""
    n_tokens, n_heads, width = x.shape
    out = torch.empty((n_tokens, n_heads * width), dtype=x.dtype, device=x.device)
    _gated_rms_norm[(n_tokens, n_heads)](
        x.contiguous(), gate, weight, out, gate.stride(0), n_heads, width, eps,
        BLOCK=triton.next_power_of_2(width), num_warps=1,
    )  # fmt: skip
    return out
