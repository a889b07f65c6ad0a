"""The page's sums are what the kernel moves: it runs, and every load and store is counted."""

import pytest
import torch

from benchmarks.attention_bytes import Prompt, count_kernel, count_prompt, count_written_out
from engine.account.attention_traffic import Heads, n_programs, tiled, tiles_read, written_out
from engine.account.cost import PRESET_SHAPES
from kernels.triton.attention_prefill import tile_shape
from tests.kernels.interpreter.conftest import INTERPRETED

pytestmark = pytest.mark.skipif(not INTERPRETED, reason="only the interpreter's loads and stores can be counted")


@pytest.fixture(autouse=True)
def memory():
    """These tensors lie where torch puts them: they are told apart by their addresses."""


def kinds(counted):
    names = set(counted.loaded) | set(counted.stored)
    return {name: counted.loaded.get(name, 0) + counted.stored.get(name, 0) for name in names}


def as_kinds(traffic):
    return {name: moved for name, moved in vars(traffic).items() if moved}


@pytest.mark.parametrize(
    ("n_tokens", "heads", "tile"),
    [
        (130, Heads(2, 1, 64), None),
        (65, Heads(2, 2, 32), (16, 8)),
        (40, Heads(4, 2, 16), (16, 64)),
        (7, Heads(1, 1, 16), (1, 16)),
    ],
)
def test_the_kernel_moves_what_the_sums_say(n_tokens, heads, tile):
    prompt = Prompt(n_tokens, heads.n_heads, heads.n_kv_heads, heads.head_dim)
    counted, _ = count_kernel(prompt, "tiled", tile)
    block_m, block_n = tile or tile_shape(heads.head_dim, torch.float16)[:2]
    assert (counted.block_m, counted.block_n) == (block_m, block_n)
    assert kinds(counted) == as_kinds(tiled(n_tokens, block_m, heads))
    assert counted.tiles == tiles_read(n_tokens, block_m, block_n) * heads.n_heads
    assert counted.programs == n_programs(n_tokens, block_m) * heads.n_heads


@pytest.mark.parametrize("heads", [Heads(4, 2, 16), Heads(3, 3, 8)])
def test_the_operations_of_the_written_out_way_move_what_the_sums_say(heads):
    counted, _ = count_written_out(Prompt(20, heads.n_heads, heads.n_kv_heads, heads.head_dim))
    assert kinds(counted) == as_kinds(written_out(20, heads))


def test_all_ways_give_the_same_outputs_or_nothing_is_recorded(monkeypatch):
    shape = PRESET_SHAPES["SmolLM2-135M"]
    ways = [one.way for one in count_prompt(shape, 2).ways]
    assert ways == ["written_out", "one_query", "tiled"]
    spoiled = torch.bmm
    monkeypatch.setattr(torch, "bmm", lambda *given: spoiled(*given) + 1)
    with pytest.raises(AssertionError):
        count_prompt(shape, 2)


def test_counting_leaves_the_interpreter_as_it_was():
    from triton.runtime.interpreter import interpreter_builder

    before = interpreter_builder.create_masked_load
    count_kernel(Prompt(3, 1, 1, 16), "tiled")
    assert interpreter_builder.create_masked_load == before
