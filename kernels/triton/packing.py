"""Finding one's place among packed sequences, without asking the host.

T tokens of B sequences lie one after another; `bounds` [B + 1] says where each begins. Kernels that work on tiles of
rows must not let a tile reach over a boundary, so each sequence is cut into tiles of its own. How many there are is
known on the device only. The host starts as many programs as there could be, and each program finds its tile, or that
it has none. No copy to the host means no wait for the GPU, and one launch that a CUDA graph can replay for other
lengths.
"""

import triton
import triton.language as tl


def most_tiles(n_rows: int, n_sequences: int, tile: int) -> int:
    """The most tiles of `tile` rows that this many rows can need in this many sequences: the sum of (length + tile -
    1) // tile.
    """
    return (n_rows + n_sequences * (tile - 1)) // tile


@triton.jit
def tiles_before(
    bounds: tl.tensor, n_sequences: tl.tensor, sequence: tl.tensor, TILE: tl.constexpr, MAX_SEQUENCES: tl.constexpr
) -> tl.tensor:
    """How many tiles the sequences before this one have; with `sequence` = `n_sequences`, how many there are."""
    ids = tl.arange(0, MAX_SEQUENCES)
    counted = ids < tl.minimum(sequence, n_sequences)
    begin = tl.load(bounds + ids, mask=counted, other=0)
    end = tl.load(bounds + ids + 1, mask=counted, other=0)
    return tl.sum(tl.cdiv(end - begin, TILE), axis=0)


@triton.jit
def find_tile(
    bounds: tl.tensor, n_sequences: tl.tensor, tile: tl.tensor, TILE: tl.constexpr, MAX_SEQUENCES: tl.constexpr
) -> tuple[tl.tensor, tl.tensor, tl.tensor, tl.tensor]:
    """Where tile number `tile` lies: its sequence, the sequence's first row, the tile's first row, the sequence's end.

    Past the last tile `sequence` is `n_sequences`, and the rows mean nothing.
    """
    ids = tl.arange(0, MAX_SEQUENCES)
    begins = tl.load(bounds + ids, mask=ids < n_sequences, other=0)
    ends = tl.load(bounds + ids + 1, mask=ids < n_sequences, other=0)
    tiles = tl.cdiv(ends - begins, TILE)
    tiles_up_to = tl.cumsum(tiles, axis=0)
    sequence = tl.sum(((tiles_up_to <= tile) & (ids < n_sequences)).to(tl.int32), axis=0)
    here = ids == sequence
    first_tile = tl.sum(tl.where(here, tiles_up_to - tiles, 0), axis=0)
    begin = tl.sum(tl.where(here, begins, 0), axis=0)
    end = tl.sum(tl.where(here, ends, 0), axis=0)
    return sequence, begin, begin + (tile - first_tile) * TILE, end
