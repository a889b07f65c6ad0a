"""Third step of the chunked delta rule: what each token reads.

With S the state before the chunk, u the tokens' writes, L_ij the log decay from after token j to after token i, and
L_i from the chunk's start to after token i:

    o_i = e^{L_i} S q_i + sum over j <= i of (q_i . k_j) e^{L_ij} u_j

A token reads its own write, too. All chunks are independent by now. The second term is attention inside the chunk,
with the decay in the place of the softmax.
"""

import triton
import triton.language as tl

from kernels.triton.delta_gates import gates, log_decay_between, unit
from kernels.triton.packing import find_tile


@triton.jit
def delta_chunk_outputs(
    qkv: tl.tensor,  # [T, 2 * Hk * K + Hv * V]
    a: tl.tensor,  # [T, Hv]
    decay_rate: tl.tensor,  # [Hv]
    dt_bias: tl.tensor,  # [Hv]
    bounds: tl.tensor,  # [B + 1]
    slots: tl.tensor,  # [B], negative: a padding row, whose output is 0
    writes: tl.tensor,  # [T, Hv, V] of the second step
    chunk_states: tl.tensor,  # [chunks, Hv, V, K] of the second step
    out: tl.tensor,  # [T, Hv, V], written
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
    """A program has BLOCK_V components of the outputs of one chunk and head."""
    chunk, head = tl.program_id(1), tl.program_id(2)
    sequence, _, first, end = find_tile(bounds, n_sequences, chunk, CHUNK, MAX_SEQUENCES)
    if sequence >= n_sequences:
        return
    token, ks = tl.arange(0, CHUNK), tl.arange(0, BLOCK_K)
    vs = tl.program_id(0) * BLOCK_V + tl.arange(0, BLOCK_V)
    row, here = first.to(tl.int64), token < end - first
    in_keys, in_values = here[:, None] & (ks < K)[None, :], here[:, None] & (vs < V)[None, :]
    in_out = token[:, None] * n_heads * V + vs[None, :]
    out_from = out + (row * n_heads + head) * V
    if tl.load(slots + sequence) < 0:
        tl.store(out_from + in_out, tl.zeros([CHUNK, BLOCK_V], tl.float32), mask=in_values)
        return

    q_from = qkv + row * qkv_stride + (head // (n_heads // n_key_heads)) * K
    in_qk = token[:, None] * qkv_stride + ks[None, :]
    q = unit(tl.load(q_from + in_qk, mask=in_keys, other=0.0).to(tl.float32)) * (K**-0.5)
    k = unit(tl.load(q_from + n_key_heads * K + in_qk, mask=in_keys, other=0.0).to(tl.float32))
    a_here = tl.load(a + row * a_stride + head + token * a_stride, mask=here, other=0.0).to(tl.float32)
    rate, bias = tl.load(decay_rate + head).to(tl.float32), tl.load(dt_bias + head).to(tl.float32)
    g, _ = gates(a_here, 0.0, rate, bias)

    overlaps = tl.dot(q, tl.trans(k), input_precision=PRECISION) * tl.exp(log_decay_between(g, CHUNK))
    overlaps = tl.where(token[:, None] >= token[None, :], overlaps, 0.0)
    write = tl.load(writes + (row * n_heads + head) * V + in_out, mask=in_values, other=0.0).to(tl.float32)
    read = tl.dot(overlaps, write, input_precision=PRECISION)
    state_from = chunk_states + (chunk.to(tl.int64) * n_heads + head) * V * K
    in_state = (vs < V)[:, None] & (ks < K)[None, :]
    state = tl.load(state_from + vs[:, None] * K + ks[None, :], mask=in_state, other=0.0).to(tl.float32)
    decayed_q = q * tl.exp(tl.cumsum(g, axis=0))[:, None]
    read += tl.dot(decayed_q, tl.trans(state), input_precision=PRECISION)
    tl.store(out_from + in_out, read, mask=in_values)
