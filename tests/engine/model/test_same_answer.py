"""The same tokens give the same odds and leave the same memory, however they came in (law 8)."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.memory.memory import Memory
from engine.model.model import Model
from kernels import dispatch
from tests.engine.model.conftest import poisoned
from tests.engine.model.passes import Walk, split

CLOSE = {"rtol": 0, "atol": 1e-4}


def _prompt(n: int, seed: int = 0) -> list[int]:
    return torch.randint(0, 300, (n,), generator=torch.Generator().manual_seed(seed)).tolist()


def _same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> None:
    for name, kept in one.items():
        torch.testing.assert_close(kept, other[name], **CLOSE, msg=lambda m, name=name: f"{name}: {m}")


@pytest.mark.parametrize("sizes", [[1], [63], [64], [65], [3, 1, 17]], ids=str)
def test_one_pass_equals_chunks_equals_token_by_token(
    model: Model, memory: Memory, implementation: str, sizes: Sequence[int]
):
    ids = _prompt(200)
    whole, pieces = Walk(model, memory), Walk(model, memory)
    torch.testing.assert_close(whole.feed(ids), pieces.feed_in(split(ids, sizes)), **CLOSE)
    _same(whole.kept(), pieces.kept())
    memory.check_integrity()


@pytest.mark.parametrize("fast", ["cpu", "native"])
def test_a_prompt_may_be_cut_anywhere(model: Model, fast: str):
    ids = _prompt(40)
    with dispatch.override_all(fast):
        memory = poisoned(model)
        whole = Walk(model, memory)
        expected = whole.feed(ids)

        @settings(max_examples=25, deadline=None)
        @given(cuts=st.sets(st.integers(1, 39), max_size=6))
        def cut_at(cuts: set[int]) -> None:
            edges = [0, *sorted(cuts), 40]
            pieces = Walk(model, memory)
            got = pieces.feed_in(ids[a:b] for a, b in itertools.pairwise(edges))
            torch.testing.assert_close(got, expected, **CLOSE)
            _same(pieces.kept(), whole.kept())
            pieces.close()
            memory.poison_free()

        cut_at()


def test_packed_prompts_do_not_see_each_other(model: Model, memory: Memory, implementation: str):
    a, b = _prompt(23, 1), _prompt(70, 2)
    alone = [Walk(model, memory).feed(ids) for ids in (a, b)]
    first, second = Walk(model, memory), Walk(model, memory)
    packed = model.forward([first.span(a, "prefill"), second.span(b, "prefill")], memory)
    torch.testing.assert_close(packed, torch.cat(alone), **CLOSE)


def test_decoding_goes_on_beside_another_sequences_prefill(model: Model, memory: Memory, implementation: str):
    a, b = _prompt(30, 1), _prompt(50, 2)
    alone = Walk(model, memory)
    expected = alone.feed(a)
    alone.close()
    other = Walk(model, memory)
    expected_other = other.feed(b)
    other.close()

    writer, reader = Walk(model, memory), Walk(model, memory)
    writer.feed(a[:20])
    for t in range(20, 30):
        chunk = b[5 * (t - 20) : 5 * (t - 19)]
        spans = [reader.span(chunk, "prefill"), writer.span([a[t]], "decode")]
        logits = model.forward(spans, memory)
        torch.testing.assert_close(logits[-1], expected[t], **CLOSE)
        torch.testing.assert_close(logits[:-1], expected_other[5 * (t - 20) : 5 * (t - 19)], **CLOSE)


def test_many_decode_together_in_any_order_of_slots(model: Model, memory: Memory, implementation: str):
    prompts = [_prompt(n, n) for n in (5, 17, 33)]
    walks = [Walk(model, memory) for _ in prompts]
    for walk, ids in zip(walks, prompts, strict=True):
        walk.feed(ids[:-1])
    order = [2, 0, 1]
    together = model.forward([walks[i].span([prompts[i][-1]], "decode") for i in order], memory)
    for row, i in enumerate(order):
        walks[i].close()
        alone = Walk(model, memory)
        torch.testing.assert_close(together[row], alone.feed(prompts[i])[-1], **CLOSE)
        alone.close()


def test_a_reused_slot_and_its_pages_remember_nothing(model: Model, implementation: str):
    ids = _prompt(40)
    clean = Walk(model, model.new_memory(n_slots=1, n_positions=64))
    expected, expected_kept = clean.feed(ids), clean.kept()
    memory = model.new_memory(n_slots=1, n_positions=64)
    before = Walk(model, memory)
    before.feed(_prompt(60, 9))
    before.close()
    after = Walk(model, memory)
    assert torch.equal(after.feed(ids), expected)
    for name, kept in after.kept().items():
        assert torch.equal(kept, expected_kept[name]), name


def test_one_token_as_a_prompt_equals_one_token_as_a_step(model: Model, memory: Memory, implementation: str):
    prompt, step = Walk(model, memory), Walk(model, memory)
    assert torch.equal(prompt.feed([5], "prefill"), step.feed([5], "decode"))


def test_logits_come_only_for_the_rows_asked_for(model: Model, memory: Memory, implementation: str):
    a, b, c = _prompt(6, 1), _prompt(4, 2), _prompt(3, 3)
    everything = [Walk(model, memory).feed(ids) for ids in (a, b, c)]
    memory = poisoned(model)
    walks = [Walk(model, memory) for _ in range(3)]
    spans = [
        walk.span(ids, "prefill", logits)
        for walk, ids, logits in zip(walks, (a, b, c), ("none", "last", "all"), strict=True)
    ]
    logits = model.forward(spans, memory)
    torch.testing.assert_close(logits, torch.cat([everything[1][-1:], everything[2]]), **CLOSE)


def test_a_pass_that_asks_for_no_logits_gives_none_and_still_moves_on(
    model: Model, memory: Memory, implementation: str
):
    ids = _prompt(9)
    walk = Walk(model, memory)
    assert model.forward([walk.span(ids[:4], "prefill", "none")], memory).shape == (0, 300)
    torch.testing.assert_close(walk.feed(ids[4:])[-1], Walk(model, memory).feed(ids)[-1], **CLOSE)


def test_the_two_implementations_agree_in_bfloat16_as_well(story_folder):
    """Weights and KV cache in bfloat16, everything else in float32, on both."""
    model = Model.load(story_folder)
    results = []
    for fast in ("cpu", "native"):
        with dispatch.override_all(fast):
            walk = Walk(model, poisoned(model))
            results.append(torch.cat([walk.feed(_prompt(33)), walk.feed([5], "decode")]))
    # A key or value that rounds the other way in the cache moves what follows a little.
    torch.testing.assert_close(results[0], results[1], rtol=0, atol=2e-2)
    assert torch.equal(results[0].argmax(-1), results[1].argmax(-1))
