"""First step of the chunked delta rule: solve, for 64 tokens at once, what each of them writes (the WY form).

Token i writes u_i = beta_i (v_i - S k_i), where S holds the writes of the tokens before it. Inside a chunk, with S_0
the state before it and L_ij the log decay from after token j to after token i (arXiv 2412.06464; without gates
2406.06484):

    u_i + sum over j < i of A_ij u_j = beta_i (v_i - e^{L_i} S_0 k_i),      A_ij = beta_i (k_i . k_j) e^{L_ij}

One token waits for the other only through a unit lower triangular matrix I + A, the same for all components. So

    u = U - W S_0^T,     U = (I + A)^-1 (beta v),     W = (I + A)^-1 (beta e^L k)

and U and W need no state: every chunk of every sequence is solved at the same time, by matrix products.

The inverse X grows from blocks of one token to blocks of 64. If X inverts the diagonal blocks of size s, then a block
of 2 s, [[P, 0], [N, Q]], has the inverse [[P^-1, 0], [-Q^-1 N P^-1, Q^-1]], which is X - X N X for all blocks
together. This is elimination in another order, and as stable. The shorter (I - A)(I + A^2)(I + A^4)... is not: for a
token repeated 64 times its powers reach 10^18, and the result should be below 1.
"""

import triton
import triton.language as tl

from kernels.triton.delta_gates import gates, log_decay_between, unit
from kernels.triton.packing import find_tile


@triton.jit
def unit_lower_inverse(below: tl.tensor, CHUNK: tl.constexpr) -> tl.tensor:
    """Inverse of I + below, where below [CHUNK, CHUNK] is strictly lower triangular."""
    token = tl.arange(0, CHUNK)
    row, column = token[:, None], token[None, :]
    # Pairs of blocks of one token: the inverse of [[1, 0], [n, 1]] is [[1, 0], [-n, 1]].
    inverse = tl.where(row == column, 1.0, 0.0) - tl.where(row >> 1 == column >> 1, below, 0.0)
    for level in range(1, 6):
        # Blocks of 2^level tokens: the same pair, not the same block.
        corner = (row >> (level + 1) == column >> (level + 1)) & (row >> level != column >> level)
        corner = tl.where(corner, below, 0.0)
        # In nearly full float32 whatever the data were: errors here would be multiplied by those of ten products.
        inverse -= tl.dot(tl.dot(inverse, corner, input_precision="tf32x3"), inverse, input_precision="tf32x3")
    return inverse


@triton.jit
def delta_chunk_solve(
    qkv: tl.tensor,  # [T, 2 * Hk * K + Hv * V]
    a: tl.tensor,  # [T, Hv]
    b: tl.tensor,  # [T, Hv]
    decay_rate: tl.tensor,  # [Hv]
    dt_bias: tl.tensor,  # [Hv]
    bounds: tl.tensor,  # [B + 1]
    slots: tl.tensor,  # [B], negative: a padding row
    u: tl.tensor,  # [T, Hv, V], written
    w: tl.tensor,  # [T, Hv, K], written
    qkv_stride: tl.tensor,  # elements from a row to the next
    a_stride: tl.tensor,
    b_stride: tl.tensor,
    n_sequences: tl.tensor,  # B
    n_key_heads: tl.tensor,  # Hk
    n_heads: tl.tensor,  # Hv
    K: tl.constexpr,
    V: tl.constexpr,
    BLOCK_K: tl.constexpr,  # at least K
    BLOCK_V: tl.constexpr,  # columns of U at a time
    CHUNK: tl.constexpr,
    MAX_SEQUENCES: tl.constexpr,
    PRECISION: tl.constexpr,
) -> None:
    """A program has one chunk of one value head."""
    sequence, _, first, end = find_tile(bounds, n_sequences, tl.program_id(0), CHUNK, MAX_SEQUENCES)
    if sequence >= n_sequences:
        return
    if tl.load(slots + sequence) < 0:
        return
    head, token, ks = tl.program_id(1), tl.arange(0, CHUNK), tl.arange(0, BLOCK_K)
    here = token < end - first
    # Tiles are addressed from their first row, in 32 bits: half the registers of 64-bit addresses.
    row = first.to(tl.int64)
    k_from = qkv + row * qkv_stride + (n_key_heads + head // (n_heads // n_key_heads)) * K
    in_keys = here[:, None] & (ks < K)[None, :]
    k = unit(tl.load(k_from + token[:, None] * qkv_stride + ks[None, :], mask=in_keys, other=0.0).to(tl.float32))
    g, beta = gates(
        tl.load(a + row * a_stride + head + token * a_stride, mask=here, other=0.0).to(tl.float32),
        tl.load(b + row * b_stride + head + token * b_stride, mask=here, other=0.0).to(tl.float32),
        tl.load(decay_rate + head).to(tl.float32), tl.load(dt_bias + head).to(tl.float32),
    )  # fmt: skip

    # What rows past the end give is not stored, and as the last ones they change nothing for those before.
    decayed = tl.exp(log_decay_between(g, CHUNK))
    overlaps = tl.dot(k, tl.trans(k), input_precision=PRECISION)
    below = tl.where(token[:, None] > token[None, :], beta[:, None] * overlaps * decayed, 0.0)
    inverse = unit_lower_inverse(below, CHUNK)

    since_start = tl.exp(tl.cumsum(g, axis=0))
    solved_k = tl.dot(inverse, k * (beta * since_start)[:, None], input_precision=PRECISION)
    w_from = w + (row * n_heads + head) * K
    tl.store(w_from + token[:, None] * n_heads * K + ks[None, :], solved_k, mask=in_keys)
    v_from, u_from = qkv + row * qkv_stride + 2 * n_key_heads * K + head * V, u + (row * n_heads + head) * V
    for start in range(0, V, BLOCK_V):
        vs = start + tl.arange(0, BLOCK_V)
        inside = here[:, None] & (vs < V)[None, :]
        v = tl.load(v_from + token[:, None] * qkv_stride + vs[None, :], mask=inside, other=0.0).to(tl.float32)
        solved_v = tl.dot(inverse, v * beta[:, None], input_precision=PRECISION)
        tl.store(u_from + token[:, None] * n_heads * V + vs[None, :], solved_v, mask=inside)
