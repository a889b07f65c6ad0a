"""Bytes that attention moves: the sums against the recorded counts, a loop written out, and what must hold of them."""

from pathlib import Path

import pytest

from engine.account.attention_traffic import (
    Heads,
    least,
    n_programs,
    on_chip_bytes,
    positions_read,
    tiled,
    tiles_read,
    written_out,
)
from engine.account.kernel_records import read_attention_bytes

RECORD = read_attention_bytes(
    Path(__file__).resolve().parents[3] / "lessons" / "recordings" / "kernels" / "attention-bytes.json"
)


@pytest.mark.parametrize("prompt", RECORD.prompts, ids=lambda one: f"{one.shape}-{one.n_tokens}")
def test_the_sums_are_what_was_counted(prompt):
    heads = Heads(prompt.n_heads, prompt.n_kv_heads, prompt.head_dim)
    for one in prompt.ways:
        if one.way == "written_out":
            assert one.total == written_out(prompt.n_tokens, heads).total
        else:
            assert one.total == tiled(prompt.n_tokens, one.block_m, heads).total
            assert one.tiles == tiles_read(prompt.n_tokens, one.block_m, one.block_n) * prompt.n_heads


def test_the_record_has_the_tile_that_the_kernel_chose_for_narrow_and_for_wide_heads():
    tiles = {(p.head_dim, w.block_m, w.block_n) for p in RECORD.prompts for w in p.ways if w.way == "tiled"}
    assert {width for width, _, _ in tiles} == {64, 256}


@pytest.mark.parametrize(("n_tokens", "m", "n"), [(1, 64, 64), (64, 64, 64), (65, 64, 64), (200, 32, 16), (9, 1, 4)])
def test_a_program_reads_every_key_up_to_its_last_query_and_no_tile_after_it(n_tokens, m, n):
    visited = {
        (program, position, position // n)
        for program in range(n_programs(n_tokens, m))
        for query in range(program * m, min(n_tokens, (program + 1) * m))
        for position in range(query + 1)
    }
    assert len({(program, position) for program, position, _ in visited}) == positions_read(n_tokens, m)
    assert len({(program, tile) for program, _, tile in visited}) == tiles_read(n_tokens, m, n)


def test_more_queries_in_a_tile_read_the_keys_less_often():
    read = [positions_read(1024, m) for m in (1, 16, 32, 64, 128, 1024)]
    assert read == sorted(read, reverse=True)
    assert read[-1] == 1024, "a tile of all queries reads each key once"


@pytest.mark.parametrize("n_tokens", (1, 64, 500, 4096))
def test_no_way_moves_less_than_everything_once(n_tokens):
    heads = Heads(16, 4, 256)
    ways = [tiled(n_tokens, m, heads) for m in (1, 64, 4096)] + [written_out(n_tokens, heads)]
    assert all(one.total >= least(n_tokens, heads) for one in ways)


def test_only_the_written_out_way_carries_scores():
    heads = Heads(4, 2, 64)
    assert written_out(100, heads).scores > 0
    assert tiled(100, 64, heads).scores == 0


def test_what_is_on_the_chip_does_not_grow_with_the_prompt_and_fits_a_multiprocessor():
    """228 KiB is what a multiprocessor of a GPU of compute capability 9.0 shares; registers come on top."""
    tiles = {(p.head_dim, w.block_m, w.block_n) for p in RECORD.prompts for w in p.ways if w.way == "tiled"}
    assert all(on_chip_bytes(m, n, width) < 228 << 10 for width, m, n in tiles)
