"""Plans become logits: the same ones however a plan is cut, and memory goes back to its owner."""

import numpy as np
import pytest

from engine.loop.loading import load_parts
from engine.loop.sequence import Part, Sequence, StepPlan

TOKENS = [79, 110, 99, 101, 32, 117, 112, 111, 110]


@pytest.fixture(scope="module")
def runner(small_model_folder):
    return load_parts(small_model_folder, threads=1, max_running=2, draft_model=None).runner


def sequence(tokens=TOKENS):
    return Sequence("a", list(tokens), len(tokens), 5)


def compute(runner, *parts):
    for one, n in parts:
        assert one in runner._holdings or runner.enter(one)
        assert runner.reserve(one, n)
    return runner.compute(StepPlan([Part(one, n, one.phase) for one, n in parts]))


def test_a_chunk_gives_no_logits_and_the_last_one_those_of_the_whole(runner):
    whole, cut = sequence(), sequence()
    expected = compute(runner, (whole, 9))
    first = compute(runner, (cut, 4))
    cut.n_held = 4
    last = compute(runner, (cut, 5))
    assert (first.shape, last.shape) == ((0, 257), (1, 257))
    assert last == pytest.approx(expected, abs=1e-3)
    runner.leave(whole)
    runner.leave(cut)


def test_sequences_in_one_step_get_their_own_rows_in_their_own_order(runner):
    one, two = sequence(TOKENS), sequence(TOKENS[:3])
    together = compute(runner, (one, 9), (two, 3))
    runner.leave(one)
    runner.leave(two)
    for row, tokens in zip(together, (TOKENS, TOKENS[:3]), strict=True):
        alone = sequence(tokens)
        assert row == pytest.approx(compute(runner, (alone, len(tokens)))[0], abs=1e-3)
        runner.leave(alone)
    assert together.dtype == np.float32


def test_what_has_left_is_free_again_and_leaving_without_anything_is_fine(runner):
    for _ in range(10):
        one = sequence()
        compute(runner, (one, 9))
        runner.leave(one)
    runner.leave(sequence())
    assert list(runner.memory.holdings) == []
    runner.memory.check_integrity()


def test_when_all_slots_are_taken_nobody_enters_and_nothing_changes(runner):
    many = [sequence() for _ in range(runner.memory.slots.n_slots)]
    assert all(runner.enter(one) for one in many)
    late = sequence()
    assert not runner.enter(late)
    for one in many:
        runner.leave(one)
    runner.check()
    assert runner.enter(late)
    runner.leave(late)


def test_a_sequence_without_room_for_its_next_tokens_is_told_so(runner):
    one = sequence()
    assert runner.enter(one)
    assert not runner.reserve(one, runner.memory.pages.n_positions + 1)
    assert runner.reserve(one, 9)
    runner.leave(one)
    runner.check()


def test_the_device_is_described_with_the_kernels_that_run(runner):
    device = runner.device(drafts=False)
    assert device.threads == 1
    assert set(device.kernels) >= {"gated_delta_net", "gated_attention"}
    assert "attention" not in device.kernels, "what another architecture would use did not run"
    assert "fold_drafts" in runner.device(drafts=True).kernels
