"""Drafted passes: outputs as of plain steps, memory untouched until the accepted tokens are folded in."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor

from kernels import dispatch, native, reference
from kernels.reference_drafts import Journal
from tests.kernels.cases import DeltaNetCase, arguments, bounds_of, copied, delta_net_case, run

STORY = {"key_heads": 4, "value_heads": 4}
SHAPES = {
    "story": STORY,
    "of 128": {"key_dim": 128, "value_dim": 128},
    "odd": {"key_heads": 3, "value_heads": 6, "key_dim": 33, "value_dim": 10, "taps": 3},
    "one tap before": {"key_heads": 1, "value_heads": 1, "key_dim": 17, "value_dim": 3, "taps": 2},
}


def drafted_pass(module: ModuleType, case: DeltaNetCase, drafted: list[int]) -> tuple[Tensor, Journal]:
    return module.drafted_gated_delta_net(*arguments(case), torch.tensor(drafted))


def fold(module: ModuleType, journal: Journal, case: DeltaNetCase, accepted: list[int]) -> None:
    module.fold_drafts(journal, case.windows, case.states, case.bounds, case.slots, torch.tensor(accepted))


def stepped(case: DeltaNetCase, counts: list[int]) -> Tensor:
    """The first `counts[b]` tokens of each sequence, one plain pass each, in the case's own dtype and memory."""
    out = torch.full((len(case.projected), case.states.shape[1] * case.states.shape[2]), torch.nan).double()
    for b, count in enumerate(counts):
        for t in range(int(case.bounds[b]), int(case.bounds[b]) + count):
            one = [case.projected[t : t + 1], *arguments(case)[1:-2], bounds_of([1]), case.slots[b : b + 1]]
            out[t] = reference.gated_delta_net(*one)[0]
    return out


def same_memory(ours: DeltaNetCase, truth: DeltaNetCase) -> None:
    """Also in the slots of nobody: NaN stays NaN."""
    torch.testing.assert_close(ours.states.double(), truth.states.double(), rtol=1e-5, atol=2e-5, equal_nan=True)
    torch.testing.assert_close(ours.windows.double(), truth.windows.double(), rtol=0, atol=0, equal_nan=True)


def same_bits(ours: Tensor, before: Tensor) -> None:
    assert torch.equal(ours.view(torch.int32), before.view(torch.int32))


@pytest.fixture(params=["cpu", "native", "reference"])
def module(request: pytest.FixtureRequest, poisoned_memory: None) -> ModuleType:
    return importlib.import_module(f"kernels.{request.param}")


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("accepted", range(6))
def test_whatever_is_accepted_of_five_tokens_the_memory_is_that_of_as_many_plain_steps(
    module: ModuleType, shape: str, accepted: int
):
    inputs = delta_net_case([5], slots=[2], **SHAPES[shape])
    truth, all_steps, ours = copied(inputs, torch.float64), copied(inputs, torch.float64), copied(inputs)
    out, journal = drafted_pass(module, ours, [1])
    torch.testing.assert_close(out.double(), stepped(all_steps, [5]), rtol=1e-4, atol=1e-4)
    same_bits(ours.states, inputs.states)
    same_bits(ours.windows, inputs.windows)
    fold(module, journal, ours, [accepted])
    stepped(truth, [accepted])
    same_memory(ours, truth)


def test_prompts_and_plain_steps_beside_drafts_move_their_memory_on_at_once(module: ModuleType):
    lengths, drafted, accepted = [3, 40, 1, 1, 6, 70], [1, 0, 0, 1, 1, 0], [2, -1, -1, 1, 0, -1]
    inputs = delta_net_case(lengths, slots=[7, 1, 0, 4, 6, 3], **STORY)
    truth, ours = copied(inputs, torch.float64), copied(inputs)
    expected = run(reference.gated_delta_net, copied(inputs, torch.float64))
    out, journal = drafted_pass(module, ours, drafted)
    torch.testing.assert_close(out.double(), expected, rtol=1e-4, atol=1e-4)
    stepped(truth, [0 if guessed else n for n, guessed in zip(lengths, drafted, strict=True)])
    same_memory(ours, truth)
    fold(module, journal, ours, accepted)
    stepped(truth, [max(0, n) for n in accepted])
    same_memory(ours, truth)


def test_a_batch_of_drafts_alone_and_journals_that_agree(module: ModuleType):
    inputs = delta_net_case([2, 5, 3], value_heads=4)
    _, expected = drafted_pass(reference, copied(inputs, torch.float64), [1, 1, 1])
    _, journal = drafted_pass(module, copied(inputs), [1, 1, 1])
    for got, truth in zip(journal, expected, strict=True):
        torch.testing.assert_close(got.double(), truth, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("decay_rate", "dt_bias", "strength"),
    [(0.0, 0.0, 0.0), (-16.0, 10.0, 0.0), (-16.0, 100.0, 30.0), (-1e-4, 0.0, 30.0), (-2.0, 0.0, -30.0)],
    ids=["nothing is forgotten", "much", "all, and written over", "written over", "nothing is written"],
)
def test_the_ends_of_both_gates(module: ModuleType, decay_rate: float, dt_bias: float, strength: float):
    inputs = delta_net_case([8], **STORY)
    inputs.decay_rate.fill_(decay_rate)
    inputs.dt_bias.fill_(dt_bias)
    inputs.projected[:, -8:-4] = strength
    truth, ours = copied(inputs, torch.float64), copied(inputs)
    out, journal = drafted_pass(module, ours, [1])
    assert out.isfinite().all()
    fold(module, journal, ours, [8])
    expected = stepped(truth, [8])
    torch.testing.assert_close(out.double(), expected, rtol=1e-3, atol=1e-3)
    same_memory(ours, truth)


def test_one_token_forgets_all_and_the_decays_after_it_keep_their_precision(module: ModuleType):
    """As differences of running sums, the small decays after a huge one would be lost."""
    inputs = delta_net_case([6], **STORY)
    inputs.projected[:, -4:] = -5.0
    inputs.projected[1, -4:] = 5e4
    truth, ours = copied(inputs, torch.float64), copied(inputs)
    out, journal = drafted_pass(module, ours, [1])
    fold(module, journal, ours, [6])
    torch.testing.assert_close(out.double(), stepped(truth, [6]), rtol=1e-4, atol=1e-4)
    same_memory(ours, truth)


def test_hundreds_of_drafted_rounds_drift_no_further_than_plain_steps():
    """Rounds of 5 rows of which 1 to 5 count, against float64; the story model's decays."""
    torch.manual_seed(3)
    inputs = delta_net_case([5], **STORY)
    truth, ours = copied(inputs, torch.float64), copied(inputs)
    for accepted in torch.randint(1, 6, (200,)).tolist():
        tokens = torch.randn_like(inputs.projected)
        ours.projected, truth.projected = tokens, tokens.double()
        _, journal = drafted_pass(native, ours, [1])
        fold(native, journal, ours, [accepted])
        stepped(truth, [accepted])
    torch.testing.assert_close(ours.states[1].double(), truth.states[1], rtol=1e-4, atol=1e-4)


def test_drafted_results_do_not_depend_on_the_number_of_threads():
    inputs, before = delta_net_case([5, 30, 1, 4], **STORY), torch.get_num_threads()

    def results(threads: int) -> list[Tensor]:
        torch.set_num_threads(threads)
        mine = copied(inputs)
        out, journal = drafted_pass(native, mine, [1, 0, 1, 1])
        fold(native, journal, mine, [3, -1, 0, 4])
        return [out, mine.states, mine.windows]

    try:
        for got, expected in zip(results(4), results(1), strict=True):
            torch.testing.assert_close(got, expected, rtol=0, atol=0, equal_nan=True)
    finally:
        torch.set_num_threads(before)


def test_a_plain_step_is_recordable_whoever_computes_drafts():
    def drafts(*_: Any) -> None: ...

    with dispatch.override(drafted_gated_delta_net=drafts, fold_drafts="reference"):
        assert dispatch.recordable()
    with dispatch.override(gated_delta_net="reference"):
        assert not dispatch.recordable()
