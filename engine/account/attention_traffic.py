"""Bytes that causal attention over one prompt moves between memory and chip, by three ways of writing it.

`tiled` walks through the programs and the loop of kernels/triton/attention_prefill.py as they are there, and adds up
what each would load and store; a test runs the kernel itself under Triton's interpreter, counts, and asks for the same
numbers. `written_out` is the statement with every score in memory (algorithm 0 of FlashAttention, arXiv 2205.14135).
What moves is what a program asks for. A cache between memory and chip may answer some of it; what has to come from
memory at all is at least `Traffic.least`.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.account.record import ModelShape

PAGE_ENTRY_BYTES = 4
POSITION_BYTES = 8
FLOAT32_BYTES = 4


@dataclass(frozen=True)
class Heads:
    """The attention of one layer: query heads, key heads, numbers in a head, and bytes of a number in memory."""

    n_heads: int
    n_kv_heads: int
    head_dim: int
    number_bytes: int = 2

    @classmethod
    def of(cls, shape: ModelShape) -> Heads:
        """One full-attention layer of a model, with everything in 16-bit numbers."""
        return cls(shape.num_attention_heads, shape.num_key_value_heads, shape.head_dim)

    @property
    def row_bytes(self) -> int:
        """One head's vector of one token."""
        return self.head_dim * self.number_bytes


@dataclass(frozen=True)
class Traffic:
    """Bytes moved, by what they hold, over all heads of a layer. `tables` are page tables, positions and bounds."""

    queries: int
    keys: int
    values: int
    scores: int
    gate: int
    output: int
    tables: int

    @property
    def total(self) -> int:
        """All of them."""
        return self.queries + self.keys + self.values + self.scores + self.gate + self.output + self.tables


def tiled(n_tokens: int, block_m: int, heads: Heads) -> Traffic:
    """What `attention_prefill` moves for one prompt of `n_tokens` with `block_m` queries of a head in a tile.

    The number of keys in a tile makes no difference: positions after a tile's last query are masked out of its loads.
    """
    read = positions_read(n_tokens, block_m) * heads.n_heads
    each = n_tokens * heads.n_heads * heads.row_bytes
    programs = n_programs(n_tokens, block_m) * heads.n_heads
    return Traffic(
        queries=each,
        keys=read * heads.row_bytes,
        values=read * heads.row_bytes,
        scores=0,
        gate=each,
        output=each,
        tables=read * PAGE_ENTRY_BYTES + (n_tokens * heads.n_heads + 2 * programs) * POSITION_BYTES,
    )


def written_out(n_tokens: int, heads: Heads) -> Traffic:
    """Scores computed and written; read, made weights and written; read once more to weigh the values.

    Each matrix is read once, as if a product held all that it needs, and a mask of the scores' size besides.
    """
    square = n_tokens * n_tokens * heads.number_bytes
    each = n_tokens * heads.n_heads * heads.row_bytes
    shared = n_tokens * heads.n_kv_heads * heads.row_bytes
    return Traffic(
        queries=each,
        keys=shared,
        values=shared,
        scores=4 * square * heads.n_heads + square * heads.n_heads // heads.n_kv_heads,
        # The gate's sigmoid is written and read; the outputs are written, read, and written times the gate.
        gate=3 * each,
        output=3 * each,
        tables=0,
    )


def least(n_tokens: int, heads: Heads) -> int:
    """Everything read once and the outputs written once: no way of writing it moves less."""
    return n_tokens * heads.row_bytes * (3 * heads.n_heads + 2 * heads.n_kv_heads)


def n_programs(n_tokens: int, block_m: int) -> int:
    """Tiles of queries of one head: each is a program of its own."""
    return -(-n_tokens // block_m)


def last_query(n_tokens: int, block_m: int, program: int) -> int:
    """The last position among a program's queries: the last that it reads keys up to."""
    return min((program + 1) * block_m, n_tokens) - 1


def positions_read(n_tokens: int, block_m: int) -> int:
    """How many keys the programs of one head load: each all of those up to its last query."""
    programs = range(n_programs(n_tokens, block_m))
    return sum(last_query(n_tokens, block_m, program) + 1 for program in programs)


def tiles_read(n_tokens: int, block_m: int, block_n: int) -> int:
    """Turns of the loop over tiles of keys, over the programs of one head."""
    programs = range(n_programs(n_tokens, block_m))
    return sum(-(-(last_query(n_tokens, block_m, program) + 1) // block_n) for program in programs)


def on_chip_bytes(block_m: int, block_n: int, head_dim: int, number_bytes: int = 2) -> int:
    """What a program has on the chip at once, while it works on one tile: queries, a tile of keys and one of values in
    the pool's numbers; scores, running sums and each query's m and l in float32.
    """
    in_pool = (block_m + 2 * block_n) * head_dim * number_bytes
    return in_pool + (block_m * block_n + block_m * head_dim + 2 * block_m) * FLOAT32_BYTES
