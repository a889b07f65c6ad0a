"""A replayed decode step is the step that the model's own code would have made."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from engine.memory.memory import Memory
from engine.model.batch import Span
from engine.model.journal import Journal
from engine.model.model import Model
from kernels import dispatch, native
from tests.engine.model.conftest import poisoned
from tests.engine.model.passes import Walk


@pytest.fixture(autouse=True)
def on_native() -> Iterator[None]:
    with dispatch.override_all("native"):
        yield


@pytest.fixture
def replays(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows by one for every replay."""
    counted: list[int] = []
    replay = native.Recording.replay
    monkeypatch.setattr(native.Recording, "replay", lambda self: (counted.append(1), replay(self))[1])
    return counted


def _unrecorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "recordable", lambda **_: False)


def test_steps_are_replayed_and_change_nothing(model: Model, replays: list[int], monkeypatch: pytest.MonkeyPatch):
    prompt = torch.randint(0, 300, (13,)).tolist()
    walk = Walk(model, poisoned(model))
    new = walk.greedy(prompt, 60)
    assert len(replays) == 59, "all steps but the first, which is recorded"
    _unrecorded(monkeypatch)
    plain = Walk(model, poisoned(model))
    assert plain.greedy(prompt, 60) == new
    for name, kept in plain.kept().items():
        assert torch.equal(kept, walk.kept()[name]), name


def test_a_longer_table_of_rotations_is_recorded_anew(
    model: Model, memory: Memory, replays: list[int], monkeypatch: pytest.MonkeyPatch
):
    expected = Walk(model, memory).feed(list(range(1, 10)))
    monkeypatch.setattr("engine.model.model.FIRST_ROTATIONS", 4)
    model._rotary = model._rotary[:0]
    walk = Walk(model, memory)
    steps = torch.cat([walk.feed([token], "decode") for token in range(1, 10)])
    torch.testing.assert_close(steps, expected, rtol=0, atol=1e-4)
    assert len(replays) == 3 + 3 + 0, "tables of 4, 8 and 16 positions"


def test_sequences_take_turns_in_one_recording(model: Model, memory: Memory, replays: list[int]):
    """Other slot, other pages, other position: all of it comes from the batch at hand."""
    prompts = [torch.randint(0, 300, (n,)).tolist() for n in (40, 3)]
    alone = [Walk(model, poisoned(model)).feed([*prompt, 7, 8, 9])[-3:] for prompt in prompts]
    walks = [Walk(model, memory) for _ in prompts]
    for walk, prompt in zip(walks, prompts, strict=True):
        walk.feed(prompt)
    for i, token in enumerate((7, 8, 9)):
        for walk, expected in zip(walks, alone, strict=True):
            torch.testing.assert_close(walk.feed([token], "decode")[0], expected[i], rtol=0, atol=1e-4)
    assert len(replays) == 5


def test_results_given_out_are_not_overwritten_by_the_next_step(model: Model, memory: Memory):
    walk = Walk(model, memory)
    first, second = walk.feed([1], "decode"), walk.feed([2], "decode")
    kept = second.clone()
    walk.feed([3], "decode")
    assert torch.equal(second, kept)
    assert not torch.equal(first, second)


def test_a_step_asks_torch_for_nothing_that_it_would_share_among_threads(model: Model, memory: Memory):
    """The logits of 16 sequences were copied by torch, whose OpenMP threads then spun on the kernels' cores: a step of
    16 took half as long again, and sixteen together wrote fewer tokens a second than eight.
    """
    walk = Walk(model, memory)
    walk.feed([1], "decode")
    with _Asked() as asked:
        walk.feed([2], "decode")
        # The small model's logits are few; what matters is that no call works through them at all.
        assert not [name for name, largest in asked.calls if largest >= model.config.vocab_size]
        torch.ones(3).add_(1)
    assert asked.calls, "it hears what there is"


class _Asked(TorchDispatchMode):
    """The calls of torch that compute or copy, each with the size of its largest tensor."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[str, int]] = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        result = function(*args, **(kwargs or {}))
        tensors = [one for one in (*args, result) if isinstance(one, torch.Tensor)]
        looks_only = len({one.untyped_storage().data_ptr() for one in tensors}) < 2 and not function._schema.is_mutable
        if not looks_only:
            self.calls.append((str(function), max(one.numel() for one in tensors)))
        return result


def test_another_memory_gets_a_recording_of_its_own(model: Model, memory: Memory, replays: list[int]):
    Walk(model, memory).feed([1], "decode")
    other = poisoned(model)
    expected = Walk(model, other).feed([1, 2])
    walk = Walk(model, other)
    walk.feed([1], "decode")
    torch.testing.assert_close(walk.feed([2], "decode")[0], expected[1], rtol=0, atol=1e-4)
    memory.check_integrity()


def test_two_sequences_at_once_and_one_alone_have_different_recordings(
    model: Model, memory: Memory, replays: list[int]
):
    a, b, alone = Walk(model, memory), Walk(model, memory), Walk(model, memory)
    expected = Walk(model, memory).feed([4, 5, 6])
    for token, want in zip((4, 5, 6), expected, strict=True):
        both = model.forward([a.span([token], "decode"), b.span([token], "decode")], memory)
        torch.testing.assert_close(both, want.expand(2, -1), rtol=0, atol=1e-4)
        torch.testing.assert_close(alone.feed([token], "decode")[0], want, rtol=0, atol=1e-4)
    assert len(replays) == 4


def test_who_listens_to_an_operation_hears_every_step(model: Model, memory: Memory, replays: list[int]):
    walk = Walk(model, memory)
    walk.feed([1], "decode")
    heard = []

    def listener(*args):
        heard.append(1)
        return native.gated_delta_net(*args)

    listener.__name__ = "native"
    with dispatch.override(gated_delta_net=listener):
        walk.feed([2], "decode")
    assert len(heard) == len(model.config.linear_layers)
    assert not replays


def test_a_step_that_asks_for_no_logits_gives_none(model: Model, memory: Memory, replays: list[int]):
    walk = Walk(model, memory)
    for token in (1, 2, 3):
        assert model.forward([walk.span([token], "decode", "none")], memory).shape == (0, 300)
    expected = Walk(model, memory).feed([1, 2, 3, 4])[-1]
    torch.testing.assert_close(walk.feed([4], "decode")[0], expected, rtol=0, atol=1e-4)
    assert len(replays) == 2, "whoever asks for odds is another shape"


def test_a_prompt_that_comes_in_chunks_among_decoders_is_replayed_chunk_after_chunk(
    model: Model, memory: Memory, replays: list[int]
):
    """Unrecorded, such a step took a millisecond longer, and everyone's gaps grew with it."""
    prompt = torch.randint(0, 300, (20,)).tolist()
    expected = Walk(model, poisoned(model)).feed(prompt)[-1]
    decoders, newcomer = [Walk(model, memory) for _ in range(3)], Walk(model, memory)
    alone = [Walk(model, poisoned(model)).feed([n, n, n, n, n]) for n in range(3)]
    for at in range(0, 20, 4):
        spans = [one.span([n], "decode") for n, one in enumerate(decoders)]
        newest = newcomer.span(prompt[at : at + 4], "prefill", "last" if at == 16 else "none")
        logits = model.forward([*spans, newest], memory)
        for n, row in enumerate(logits[:3]):
            torch.testing.assert_close(row, alone[n][at // 4], rtol=0, atol=1e-4)
    torch.testing.assert_close(logits[3], expected, rtol=0, atol=1e-4)
    assert len(replays) == 3, "the last chunk asks for odds: another shape"


def test_drafted_steps_are_replayed_and_leave_what_unrecorded_ones_leave(
    model: Model, replays: list[int], monkeypatch: pytest.MonkeyPatch
):
    """Unrecorded, a pass over drafts took so much longer than a replayed step that guessing did not pay."""

    def walked() -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        walk = Walk(model, poisoned(model))
        logits = [walk.feed(list(range(20)))]
        for n_accepted in (2, 0, 1):
            start = walk.memory.extend(walk.holding, 3)
            journal = Journal()
            span = Span([5, 6, 7], start, "decode", walk.holding, "all", drafted=True)
            logits.append(model.forward([span], walk.memory, journal))
            journal.fold([1 + n_accepted])
            walk.memory.truncate(walk.holding, start + 1 + n_accepted)
        return torch.cat([*logits, walk.feed([8], "decode")]), walk.kept()

    logits, kept = walked()
    assert len(replays) == 2
    _unrecorded(monkeypatch)
    plain_logits, plain_kept = walked()
    assert torch.equal(logits, plain_logits)
    for name, one in plain_kept.items():
        assert torch.equal(one, kept[name]), name


def test_recordings_take_room_for_the_largest_step_and_no_more_shapes_are_kept_than_are_of_use(
    model: Model, memory: Memory, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("engine.model.recorded_step.MOST_SHAPES", 3)
    for n in (9, 8, 7, 6, 5):
        walk = Walk(model, memory)
        walk.feed(list(range(n)))
        walk.close()
        blocks = [block.numel() for block, _ in model._recorded._buffers._blocks]
        if n == 9:
            largest = blocks
    assert blocks == largest
    assert [shape.n_tokens for shape in model._recorded._steps] == [7, 6, 5]


def test_what_is_still_in_use_is_not_written_over():
    buffers = native.Buffers()
    first, second = buffers.take(2, 8), buffers.take(2, 8)
    assert first.data_ptr() != second.data_ptr()
    place = first.data_ptr()
    del first
    third, fourth = buffers.take(3, 5), buffers.take(1, 4)
    assert (third.data_ptr(), third.shape) == (place, (3, 5))
    assert fourth.data_ptr() not in (place, second.data_ptr())


def test_a_wrong_token_id_is_an_error_in_a_replayed_step_too(model: Model, memory: Memory):
    walk = Walk(model, memory)
    walk.feed([1], "decode")
    for wrong in (300, -1):
        with pytest.raises(IndexError):
            walk.feed([wrong], "decode")
