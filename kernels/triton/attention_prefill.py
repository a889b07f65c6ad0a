"""Causal attention of many tokens over paged keys and values, tile by tile (FlashAttention, arXiv 2205.14135,
2307.08691).

    o_t = sum over p <= t of softmax_p(q_t . k_p / sqrt(D)) v_p,   times a gate's sigmoid (arXiv 2505.06708)

Written out, the scores of T tokens are T^2 numbers that go to memory and back. But a softmax can be summed in pieces
(arXiv 1805.02867). A program has BLOCK_M queries of one head. Of the tiles of keys read so far it keeps, for each
query, the largest score m, the sum l of e^{score - m} and the sum acc of e^{score - m} v. A tile with a larger score
rescales what there is:

    m' = max(m, max s);   l <- l e^{m - m'} + sum e^{s - m'};   acc <- acc e^{m - m'} + e^{s - m'} V

and in the end o = acc / l.

Scores never leave the chip, and keys and values are read once for BLOCK_M queries of a head instead of once for
each. Tiles wholly after the last query are not read.

Query heads come in groups that share a key head (arXiv 2305.13245). Position p lies in page `page_table[p // page
size]` (arXiv 2309.06180), so each position of a tile is looked up on its own. Exponentials are of base 2, which is
what the hardware has.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from kernels.triton.packing import find_tile, most_tiles
from kernels.triton.precision import dot_precision, dot_type

LOG2_E = 1.4426950408889634


@triton.jit
def _attention_prefill(
    q: tl.tensor,  # [T, Hq, D]
    gate: tl.tensor | None,  # [T, Hq * D]; None for layers that have none
    keys: tl.tensor,  # [Hkv, pages, page size, D]
    values: tl.tensor,  # [Hkv, pages, page size, D]
    page_tables: tl.tensor,  # [B, most pages], -1 where a sequence has no page
    positions: tl.tensor,  # [T], one after another in a sequence
    bounds: tl.tensor,  # [B + 1]
    out: tl.tensor,  # [T, Hq * D], written
    gate_stride: tl.tensor,  # elements from a row of the gate to the next
    pool_stride: tl.tensor,  # elements from a head of the pool to the next
    table_stride: tl.tensor,  # elements from a page table to the next
    n_sequences: tl.tensor,  # B
    n_heads: tl.tensor,  # Hq
    group: tl.tensor,  # Hq // Hkv
    scale: tl.tensor,  # log2(e) / sqrt(D)
    D: tl.constexpr,
    PAGE: tl.constexpr,
    BLOCK_D: tl.constexpr,  # at least D
    BLOCK_M: tl.constexpr,  # queries of a tile
    BLOCK_N: tl.constexpr,  # keys of a tile
    MAX_SEQUENCES: tl.constexpr,
    DOT: tl.constexpr,
    PRECISION: tl.constexpr,
) -> None:
    sequence, _, first, end = find_tile(bounds, n_sequences, tl.program_id(0), BLOCK_M, MAX_SEQUENCES)
    if sequence >= n_sequences:
        return
    head = tl.program_id(1)
    token, dims, row = tl.arange(0, BLOCK_M), tl.arange(0, BLOCK_D), first.to(tl.int64)
    here = token < end - first
    inside = here[:, None] & (dims < D)[None, :]
    # Tiles are addressed in 32 bits from 64-bit starts: half the registers. A head's pool may have 2^31 numbers.
    in_q = token[:, None] * n_heads * D + dims[None, :]
    query = tl.load(q + (row * n_heads + head) * D + in_q, mask=inside, other=0.0).to(tl.float32)
    query = (query * scale).to(DOT)
    # Rows past the end stand at position 0, so that they see a key and stay finite.
    query_positions = tl.load(positions + row + token, mask=here, other=0).to(tl.int32)
    last = tl.max(query_positions, axis=0)
    keys += (head // group).to(tl.int64) * pool_stride
    values += (head // group).to(tl.int64) * pool_stride

    largest = tl.full([BLOCK_M], float("-inf"), tl.float32)
    total = tl.zeros([BLOCK_M], tl.float32)
    acc = tl.zeros([BLOCK_M, BLOCK_D], tl.float32)
    for start in range(0, last + 1, BLOCK_N):
        at = start + tl.arange(0, BLOCK_N)
        seen = query_positions[:, None] >= at[None, :]
        page = tl.load(page_tables + sequence * table_stride + at // PAGE, mask=at <= last, other=-1)
        in_pool = (page * PAGE + at % PAGE)[:, None] * D + dims[None, :]
        held = (page >= 0)[:, None] & (dims < D)[None, :]
        key = tl.load(keys + in_pool, mask=held, other=0.0).to(tl.float32).to(DOT)
        scores = tl.where(seen, tl.dot(query, tl.trans(key), input_precision=PRECISION), float("-inf"))
        new_largest = tl.maximum(largest, tl.max(scores, axis=1))
        weights = tl.exp2(scores - new_largest[:, None])
        rescale = tl.exp2(largest - new_largest)
        value = tl.load(values + in_pool, mask=held, other=0.0).to(tl.float32).to(DOT)
        acc = acc * rescale[:, None] + tl.dot(weights.to(DOT), value, input_precision=PRECISION)
        total = total * rescale + tl.sum(weights, axis=1)
        largest = new_largest

    result = acc / total[:, None]
    if gate is not None:
        z_from = gate + row * gate_stride + head * D
        z = tl.load(z_from + token[:, None] * gate_stride + dims[None, :], mask=inside, other=0.0).to(tl.float32)
        result *= tl.sigmoid(z)
    tl.store(out + (row * n_heads + head) * D + in_q, result, mask=inside)


def tile_shape(head_dim: int, dtype: torch.dtype) -> tuple[int, int, int]:
    """Queries and keys of a tile, and warps: what registers and shared memory hold of heads that wide, of the pool's
    dtype.
    """
    if dtype == torch.float32:
        return (32, 32, 4) if head_dim <= 128 else (32, 16, 4)
    return (64, 64, 4) if head_dim <= 128 else (64, 32, 8)


def attention_prefill(
    q: Tensor, gate: Tensor | None, keys: Tensor, values: Tensor, page_tables: Tensor, positions: Tensor, bounds: Tensor
) -> Tensor:
    """See `reference.paged_attention`, for spans of any length: q [T, Hq, D] -> [T, Hq * D]."""
    n_tokens, n_heads, dim = q.shape
    n_kv_heads, _, page_size, _ = keys.shape
    n_sequences = len(page_tables)
    block_m, block_n, warps = tile_shape(dim, keys.dtype)
    out = torch.empty((n_tokens, n_heads * dim), dtype=q.dtype, device=q.device)
    _attention_prefill[(most_tiles(n_tokens, n_sequences, block_m), n_heads)](
        q, gate, keys, values, page_tables, positions, bounds, out,
        0 if gate is None else gate.stride(0), keys.stride(0), page_tables.stride(0),
        n_sequences, n_heads, n_heads // n_kv_heads, LOG2_E * dim**-0.5,
        D=dim, PAGE=page_size, BLOCK_D=max(16, triton.next_power_of_2(dim)), BLOCK_M=block_m, BLOCK_N=block_n,
        MAX_SEQUENCES=triton.next_power_of_2(n_sequences),
        DOT=dot_type(keys.dtype), PRECISION=dot_precision(keys.dtype), num_warps=warps, num_stages=2,
    )  # fmt: skip
    return out
