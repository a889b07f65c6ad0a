"""Causal attention of one token a sequence over paged keys and values: the decode step.

One query leaves no queries to share a tile of keys with; the time is that of reading the cache. A program a head
would read a long context with a handful of multiprocessors while the others wait, so the positions of a sequence are
split too (Flash-Decoding: Dao, Haziza, Massa and Sizov, 2023). Each program sums its share with the running softmax
of `attention_prefill` and leaves its m, l and acc; `attention_merge` puts the shares together.

A program has all query heads of a key head: the keys are read once for the group. A product of 16 rows is the
smallest that the matrix units have; rows that are not heads are zeros.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from kernels.triton.attention_merge import attention_merge
from kernels.triton.attention_prefill import LOG2_E, tile_shape
from kernels.triton.precision import dot_precision, dot_type

_PROGRAMS_WANTED = 256
_FEWEST_POSITIONS = 128


@triton.jit
def _attention_decode(
    q: tl.tensor,  # [B, Hq, D]
    keys: tl.tensor,  # [Hkv, pages, page size, D]
    values: tl.tensor,  # [Hkv, pages, page size, D]
    page_tables: tl.tensor,  # [B, most pages], -1 where a sequence has no page
    positions: tl.tensor,  # [B]
    largest_out: tl.tensor,  # [B, Hq, SPLITS], written: m, -inf for an empty share
    total_out: tl.tensor,  # [B, Hq, SPLITS], written: l
    acc_out: tl.tensor,  # [B, Hq, SPLITS, D], written
    pool_stride: tl.tensor,  # elements from a head of the pool to the next
    table_stride: tl.tensor,  # elements from a page table to the next
    n_heads: tl.tensor,  # Hq
    group: tl.tensor,  # Hq // Hkv
    scale: tl.tensor,  # log2(e) / sqrt(D)
    SPLITS: tl.constexpr,
    D: tl.constexpr,
    PAGE: tl.constexpr,
    BLOCK_D: tl.constexpr,  # at least D
    BLOCK_G: tl.constexpr,  # at least the group, and 16
    BLOCK_N: tl.constexpr,  # keys of a tile
    DOT: tl.constexpr,
    PRECISION: tl.constexpr,
) -> None:
    split, kv_head, row = tl.program_id(0), tl.program_id(1), tl.program_id(2).to(tl.int64)
    members, dims = tl.arange(0, BLOCK_G), tl.arange(0, BLOCK_D)
    heads = kv_head * group + members
    inside = (members < group)[:, None] & (dims < D)[None, :]
    query = tl.load(q + (row * n_heads + heads[:, None]) * D + dims[None, :], mask=inside, other=0.0).to(tl.float32)
    query = (query * scale).to(DOT)
    keys += kv_head.to(tl.int64) * pool_stride
    values += kv_head.to(tl.int64) * pool_stride
    n_positions = tl.load(positions + row).to(tl.int32) + 1
    share = tl.cdiv(tl.cdiv(n_positions, BLOCK_N), SPLITS) * BLOCK_N
    end = tl.minimum((split + 1) * share, n_positions)

    largest = tl.full([BLOCK_G], float("-inf"), tl.float32)
    total = tl.zeros([BLOCK_G], tl.float32)
    acc = tl.zeros([BLOCK_G, BLOCK_D], tl.float32)
    for start in range(split * share, end, BLOCK_N):
        at = start + tl.arange(0, BLOCK_N)
        page = tl.load(page_tables + row * table_stride + at // PAGE, mask=at < end, other=-1)
        in_pool = (page * PAGE + at % PAGE)[:, None] * D + dims[None, :]
        held = (page >= 0)[:, None] & (dims < D)[None, :]
        key = tl.load(keys + in_pool, mask=held, other=0.0).to(tl.float32).to(DOT)
        scores = tl.dot(query, tl.trans(key), input_precision=PRECISION)
        scores = tl.where((at < end)[None, :], scores, float("-inf"))
        new_largest = tl.maximum(largest, tl.max(scores, axis=1))
        weights = tl.exp2(scores - new_largest[:, None])
        rescale = tl.exp2(largest - new_largest)
        value = tl.load(values + in_pool, mask=held, other=0.0).to(tl.float32).to(DOT)
        acc = acc * rescale[:, None] + tl.dot(weights.to(DOT), value, input_precision=PRECISION)
        total = total * rescale + tl.sum(weights, axis=1)
        largest = new_largest

    part = (row * n_heads + heads) * SPLITS + split
    tl.store(largest_out + part, largest, mask=members < group)
    tl.store(total_out + part, total, mask=members < group)
    tl.store(acc_out + part[:, None] * D + dims[None, :], acc, mask=inside)


def n_splits(n_sequences: int, n_kv_heads: int, most_positions: int) -> int:
    """Into how many shares to split each sequence: enough programs to fill a GPU, none with less than a few tiles to
    read.
    """
    wanted = triton.next_power_of_2(triton.cdiv(_PROGRAMS_WANTED, n_sequences * n_kv_heads))
    useful = triton.next_power_of_2(triton.cdiv(most_positions, _FEWEST_POSITIONS))
    return min(wanted, useful)


def attention_decode(
    q: Tensor, gate: Tensor | None, keys: Tensor, values: Tensor, page_tables: Tensor, positions: Tensor
) -> Tensor:
    """`reference.paged_attention` for one token a sequence: q [B, Hq, D], gate [B, Hq * D] -> [B, Hq * D]."""
    n_sequences, n_heads, dim = q.shape
    n_kv_heads, _, page_size, _ = keys.shape
    # The host knows how wide the page tables are, not how long each sequence is.
    splits = n_splits(n_sequences, n_kv_heads, page_tables.shape[1] * page_size)
    group = n_heads // n_kv_heads
    _, block_n, _ = tile_shape(dim, keys.dtype)
    largest, total = (torch.empty((n_sequences, n_heads, splits), device=q.device) for _ in range(2))
    acc = torch.empty((n_sequences, n_heads, splits, dim), device=q.device)
    _attention_decode[(splits, n_kv_heads, n_sequences)](
        q, keys, values, page_tables, positions, largest, total, acc, keys.stride(0), page_tables.stride(0),
        n_heads, group, LOG2_E * dim**-0.5,
        SPLITS=splits, D=dim, PAGE=page_size, BLOCK_D=max(16, triton.next_power_of_2(dim)),
        BLOCK_G=max(16, triton.next_power_of_2(group)), BLOCK_N=block_n,
        DOT=dot_type(keys.dtype), PRECISION=dot_precision(keys.dtype), num_warps=4, num_stages=2,
    )  # fmt: skip
    return attention_merge(largest, total, acc, gate, q.dtype)
