"""Second step of the chunked delta rule: carry the state from chunk to chunk.

With U and W of `delta_chunk_solve`, S the state before a chunk of n tokens, and L_i the log decay from token i to the
chunk's end:

    u = U - W S^T                                              what each token writes, [n, V]
    S <- e^{sum of g} S + sum over i of e^{L_i} u_i k_i^T      [V, K]

This is the only part that goes through a sequence in order, 64 tokens a step. Rows of S know nothing of each other
here either, so programs share a head's state by rows. Kept for the third step: the state before every chunk, and u.
"""

import triton
import triton.language as tl

from kernels.triton.delta_gates import gates, unit
from kernels.triton.packing import tiles_before


@triton.jit
def delta_chunk_states(
    qkv: tl.tensor,  # [T, 2 * Hk * K + Hv * V]
    a: tl.tensor,  # [T, Hv]
    decay_rate: tl.tensor,  # [Hv]
    dt_bias: tl.tensor,  # [Hv]
    states: tl.tensor,  # [slots, Hv, V, K], replaced in place
    bounds: tl.tensor,  # [B + 1]
    slots: tl.tensor,  # [B], negative: a padding row
    u: tl.tensor,  # [T, Hv, V] of the first step
    w: tl.tensor,  # [T, Hv, K] of the first step
    writes: tl.tensor,  # [T, Hv, V], written
    chunk_states: tl.tensor,  # [chunks, Hv, V, K], written: the state before each chunk
    qkv_stride: tl.tensor,  # elements from a row to the next
    a_stride: tl.tensor,
    n_sequences: tl.tensor,  # B
    n_key_heads: tl.tensor,  # Hk
    n_heads: tl.tensor,  # Hv
    K: tl.constexpr,
    V: tl.constexpr,
    BLOCK_K: tl.constexpr,  # at least K
    BLOCK_V: tl.constexpr,
    CHUNK: tl.constexpr,
    MAX_SEQUENCES: tl.constexpr,
    PRECISION: tl.constexpr,
) -> None:
    """A program has BLOCK_V rows of one head's state, through all chunks of a sequence."""
    head, sequence = tl.program_id(1), tl.program_id(2)
    slot = tl.load(slots + sequence).to(tl.int64)
    if slot < 0:
        return
    ks, vs = tl.arange(0, BLOCK_K), tl.program_id(0) * BLOCK_V + tl.arange(0, BLOCK_V)
    token = tl.arange(0, CHUNK)
    in_state = (vs < V)[:, None] & (ks < K)[None, :]
    in_head = vs[:, None] * K + ks[None, :]
    state_at = states + (slot * n_heads + head) * V * K + in_head
    state = tl.load(state_at, mask=in_state, other=0.0).to(tl.float32)
    rate, bias = tl.load(decay_rate + head).to(tl.float32), tl.load(dt_bias + head).to(tl.float32)
    begin, end = tl.load(bounds + sequence), tl.load(bounds + sequence + 1)
    chunk = tiles_before(bounds, n_sequences, sequence, CHUNK, MAX_SEQUENCES).to(tl.int64)

    for first in range(begin, end, CHUNK):
        row = tl.cast(first, tl.int64)
        here = token < end - first
        in_keys, in_values = here[:, None] & (ks < K)[None, :], here[:, None] & (vs < V)[None, :]
        tl.store(chunk_states + (chunk * n_heads + head) * V * K + in_head, state, mask=in_state)
        chunk += 1
        w_from, in_u = w + (row * n_heads + head) * K, token[:, None] * n_heads * V + vs[None, :]
        reads = tl.load(w_from + token[:, None] * n_heads * K + ks[None, :], mask=in_keys, other=0.0).to(tl.float32)
        write = tl.load(u + (row * n_heads + head) * V + in_u, mask=in_values, other=0.0).to(tl.float32)
        write -= tl.dot(reads, tl.trans(state), input_precision=PRECISION)
        tl.store(writes + (row * n_heads + head) * V + in_u, write, mask=in_values)

        a_from = a + row * a_stride + head
        g, _ = gates(tl.load(a_from + token * a_stride, mask=here, other=0.0).to(tl.float32), 0.0, rate, bias)
        # g of the token after each, whose sums from the end are the decays after it: no difference of sums.
        follows = (token + 1 < end - first) & (token + 1 < CHUNK)
        a_next = tl.load(a_from + (token + 1) * a_stride, mask=follows, other=0.0).to(tl.float32)
        g_next, _ = gates(a_next, 0.0, rate, bias)
        until_end = tl.exp(tl.cumsum(tl.where(follows, g_next, 0.0), axis=0, reverse=True))
        k_from = qkv + row * qkv_stride + (n_key_heads + head // (n_heads // n_key_heads)) * K
        k = unit(tl.load(k_from + token[:, None] * qkv_stride + ks[None, :], mask=in_keys, other=0.0).to(tl.float32))
        state *= tl.exp(tl.sum(tl.where(here, g, 0.0), axis=0))
        state += tl.dot(tl.trans(write), k * until_end[:, None], input_precision=PRECISION)
    tl.store(state_at, state, mask=in_state)
