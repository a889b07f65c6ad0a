"""The gated delta rule over prompts, 64 tokens at a time: three kernels, one after another.

    delta_chunk_solve     all chunks at once     what each token writes, as a function of the chunk's first state
    delta_chunk_states    chunk after chunk      the states between chunks
    delta_chunk_outputs   all chunks at once     what each token reads

Token by token the rule would read and write the state once a token and use no matrix unit. Here the state moves once
in 64 tokens, and nearly all arithmetic is in products of 64-row matrices.
"""

import torch
import triton
from torch import Tensor

from kernels.triton.delta_chunk_outputs import delta_chunk_outputs
from kernels.triton.delta_chunk_solve import delta_chunk_solve
from kernels.triton.delta_chunk_states import delta_chunk_states
from kernels.triton.packing import most_tiles
from kernels.triton.precision import dot_precision

CHUNK = 64


def chunked_delta_rule(
    qkv: Tensor, a: Tensor, b: Tensor, decay_rate: Tensor, dt_bias: Tensor, states: Tensor, bounds: Tensor,
    slots: Tensor, n_key_heads: int,
) -> Tensor:  # fmt: skip
    """See `reference.gated_delta_rule`: spans of any length, [T, 2 Hk K + Hv V] -> [T, Hv, V]; states are replaced.

    What passes between the kernels is in the dtype of qkv; the state stays float32.
    """
    _, n_heads, value_dim, key_dim = states.shape
    n_tokens, n_sequences = len(qkv), len(slots)
    n_chunks = most_tiles(n_tokens, n_sequences, CHUNK)
    block_k = max(16, triton.next_power_of_2(key_dim))
    block_v = min(32, max(16, triton.next_power_of_2(value_dim)))
    precision = dot_precision(qkv.dtype)

    def new(*shape: int) -> Tensor:
        return torch.empty(shape, dtype=qkv.dtype, device=qkv.device)

    u, writes, out = (new(n_tokens, n_heads, value_dim) for _ in range(3))
    w = new(n_tokens, n_heads, key_dim)
    chunk_states = new(n_chunks, n_heads, value_dim, key_dim)
    counts = (n_sequences, n_key_heads, n_heads)
    sizes = {
        "K": key_dim, "V": value_dim, "BLOCK_K": block_k, "CHUNK": CHUNK, "PRECISION": precision,
        "MAX_SEQUENCES": triton.next_power_of_2(n_sequences),
    }  # fmt: skip
    delta_chunk_solve[(n_chunks, n_heads)](
        qkv, a, b, decay_rate, dt_bias, bounds, slots, u, w, qkv.stride(0), a.stride(0), b.stride(0), *counts,
        **sizes, BLOCK_V=2 * block_v, num_warps=4, num_stages=1,
    )  # fmt: skip
    delta_chunk_states[(triton.cdiv(value_dim, block_v), n_heads, n_sequences)](
        qkv, a, decay_rate, dt_bias, states, bounds, slots, u, w, writes, chunk_states, qkv.stride(0), a.stride(0),
        *counts, **sizes, BLOCK_V=block_v, num_warps=8, num_stages=2,
    )  # fmt: skip
    delta_chunk_outputs[(triton.cdiv(value_dim, 2 * block_v), n_chunks, n_heads)](
        qkv, a, decay_rate, dt_bias, bounds, slots, writes, chunk_states, out, qkv.stride(0), a.stride(0), *counts,
        **sizes, BLOCK_V=2 * block_v, num_warps=4, num_stages=1,
    )  # fmt: skip
    return out
