"""Everything between an attention layer's projection and its attention, in one launch.

    query heads:  x -> R_p (x / rms(x) * w)              norm over the head (arXiv 2010.04245), then rotary positions
    key heads:    the same with the keys' w, then into the sequence's page
    value heads:  into the page as they are

Rotary positions (arXiv 2104.09864) turn pairs of dimensions (i, i + R/2) of the first R by the angle p * theta_i, so
that a query and a key meet at an angle that depends on the distance of their positions only; the other dimensions
pass through:

    y_i       = x_i       cos - x_{i+R/2} sin
    y_{i+R/2} = x_{i+R/2} cos + x_i       sin

A program has one head of one token. It loads the head twice, the second time with partners exchanged, instead of
shuffling registers; the second load finds the head in the cache.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor


@triton.jit
def _rotate_and_store(
    q: tl.tensor,  # [T, Hq * D]
    k: tl.tensor,  # [T, Hkv * D]
    v: tl.tensor,  # [T, Hkv * D]
    q_scale: tl.tensor | None,  # [D]; None for heads that have no norm
    k_scale: tl.tensor | None,  # [D]
    positions: tl.tensor,  # [T]
    table: tl.tensor,  # [positions, R]: R / 2 cosines, then as many sines
    keys: tl.tensor,  # [Hkv, pages, page size, D], written
    values: tl.tensor,  # [Hkv, pages, page size, D], written
    kv_rows: tl.tensor,  # [T], page * page size + offset; negative: a padding row, nothing is stored
    out: tl.tensor,  # [T, Hq, D], written
    q_stride: tl.tensor,  # elements from a row to the next
    k_stride: tl.tensor,
    v_stride: tl.tensor,
    pool_stride: tl.tensor,  # elements from a head of the pool to the next
    n_heads: tl.tensor,  # Hq
    n_kv_heads: tl.tensor,  # Hkv
    eps: tl.tensor,
    D: tl.constexpr,
    R: tl.constexpr,
    BLOCK: tl.constexpr,  # at least D
) -> None:
    token, head = tl.program_id(0).to(tl.int64), tl.program_id(1)
    dims = tl.arange(0, BLOCK)
    inside = dims < D
    row = tl.load(kv_rows + token).to(tl.int64)
    kv_head = (head - n_heads) % n_kv_heads
    stored_at = kv_head.to(tl.int64) * pool_stride + row * D + dims
    if head >= n_heads + n_kv_heads:
        if row >= 0:
            value = tl.load(v + token * v_stride + kv_head * D + dims, mask=inside, other=0.0).to(tl.float32)
            tl.store(values + stored_at, value, mask=inside)
        return

    is_query = head < n_heads
    partners = tl.where(dims < R // 2, dims + R // 2, tl.where(dims < R, dims - R // 2, dims))
    if is_query:
        source, scale = q + token * q_stride + head * D, q_scale
    else:
        source, scale = k + token * k_stride + kv_head * D, k_scale
    x = tl.load(source + dims, mask=inside, other=0.0).to(tl.float32)
    partner = tl.load(source + partners, mask=inside, other=0.0).to(tl.float32)
    if scale is not None:
        rsqrt = tl.rsqrt(tl.sum(x * x, axis=0) / D + eps)
        x *= rsqrt * tl.load(scale + dims, mask=inside, other=0.0).to(tl.float32)
        partner *= rsqrt * tl.load(scale + partners, mask=inside, other=0.0).to(tl.float32)

    turned = dims < R
    angle_at = table + tl.load(positions + token).to(tl.int64) * R + dims % (R // 2)
    cos = tl.load(angle_at, mask=turned, other=1.0).to(tl.float32)
    sin = tl.load(angle_at + R // 2, mask=turned, other=0.0).to(tl.float32)
    rotated = x * cos + tl.where(dims < R // 2, -partner, partner) * sin
    if is_query:
        tl.store(out + (token * n_heads + head) * D + dims, rotated, mask=inside)
    elif row >= 0:
        tl.store(keys + stored_at, rotated, mask=inside)


def rotate_and_store(
    q: Tensor, k: Tensor, v: Tensor, q_scale: Tensor | None, k_scale: Tensor | None, eps: float, positions: Tensor,
    table: Tensor, keys: Tensor, values: Tensor, kv_rows: Tensor,
) -> Tensor:  # fmt: skip
    """See `reference.rotate_and_store`: returns queries [T, Hq, D]; keys and values go into their pages.

    Without scales the heads have no norm.
    """
    n_kv_heads, _, _, dim = keys.shape
    n_tokens, n_heads = len(q), q.shape[1] // dim
    out = torch.empty((n_tokens, n_heads, dim), dtype=q.dtype, device=q.device)
    _rotate_and_store[(n_tokens, n_heads + 2 * n_kv_heads)](
        q, k, v, q_scale, k_scale, positions, table, keys, values, kv_rows, out,
        q.stride(0), k.stride(0), v.stride(0), keys.stride(0), n_heads, n_kv_heads, eps,
        D=dim, R=table.shape[1], BLOCK=triton.next_power_of_2(dim), num_warps=1,
    )  # fmt: skip
    return out
