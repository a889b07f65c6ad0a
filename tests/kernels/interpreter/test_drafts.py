"""Drafted tokens of the delta rule: outputs at once, the state only for what is accepted."""

import pytest
import torch

from kernels import gpu as kernels
from kernels import reference, reference_drafts
from tests.kernels.interpreter.closeness import HALF, assert_close, tolerance
from tests.kernels.interpreter.delta_cases import DeltaCase


def test_the_statement_of_drafts_is_the_delta_rule(memory):
    """Checkpoint plus journal, in float64, against one token after another: the algebra, before any kernel."""
    case = DeltaCase(memory, [5, 1, 8], decay_rate=torch.tensor([-0.5]))
    truth, states = case.truth()
    inputs = case.exact()
    before = inputs[5].clone()
    out, keys, writes, log_decays = reference_drafts.drafted_delta_rule(*inputs)
    assert torch.equal(inputs[5][case.used], before[case.used])
    assert_close(out, truth, 1e-13)
    reference_drafts.fold(keys, writes, log_decays, inputs[5], case.bounds, case.slots, torch.tensor([5, 1, 8]))
    assert_close(inputs[5][case.used], states, 1e-13)


@pytest.mark.parametrize(
    ("dtype", "heads", "dims"),
    (
        (torch.float32, (1, 2), (32, 8)),
        (torch.float32, (2, 2), (24, 20)),
        (torch.float32, (1, 3), (64, 16)),
        (HALF, (1, 2), (32, 8)),
    ),
)
def test_outputs_and_journal_with_the_state_untouched(memory, dtype, heads, dims):
    case = DeltaCase(memory, [3, 1, 5], heads=heads, dims=dims, dtype=dtype, may_change=False)
    truths = reference_drafts.drafted_delta_rule(*case.exact())
    results = kernels.drafted_delta_rule(*case.placed)
    assert_close(results[0], truths[0], tolerance(dtype, float32=2e-6))
    for result, truth in zip(results[1:], truths[1:], strict=True):
        assert result.dtype == torch.float32
        assert_close(result, truth, 2e-6)


@pytest.mark.parametrize("accepted", ([0, 0, 0], [1, 3, 0], [4, 3, 2], [2, 1, 1]))
def test_rejected_at_any_place_is_as_if_never_seen(memory, accepted):
    """Folding the accepted tokens leaves exactly the state that steps over those alone would have left."""
    case, stepped = (DeltaCase(memory, [4, 3, 2], dims=(32, 12), decay_rate=torch.tensor([-0.5])) for _ in range(2))
    _, _, _, _, _, states, bounds, slots, _ = case.placed
    _, keys, writes, log_decays = kernels.drafted_delta_rule(*case.placed)
    assert torch.equal(states[case.used].cpu(), case.states[case.used])
    kernels.fold(keys, writes, log_decays, states, bounds, slots, memory.place(torch.tensor(accepted)))

    qkv, a, b, rate, bias, states, bounds, slots, n_key_heads = stepped.placed
    for i, count in enumerate(accepted):
        for t in range(int(bounds[i]), int(bounds[i]) + count):
            row, own = slice(t, t + 1), memory.place(torch.tensor([0, 1]))
            kernels.gated_delta_rule(qkv[row], a[row], b[row], rate, bias, states, own, slots[i : i + 1], n_key_heads)
    assert_close(case.states_after, stepped.states_after.double(), 1e-7)


def test_drafted_outputs_are_those_of_steps(memory):
    drafted, stepped = (DeltaCase(memory, [5], dims=(32, 8), may_change=may_change) for may_change in (False, True))
    out, *_ = kernels.drafted_delta_rule(*drafted.placed)
    qkv, a, b, rate, bias, states, _, slots, n_key_heads = stepped.placed
    own = memory.place(torch.tensor([0, 1]))
    for t in range(5):
        row = slice(t, t + 1)
        step = kernels.gated_delta_rule(qkv[row], a[row], b[row], rate, bias, states, own, slots, n_key_heads)
        assert_close(step, out[row].double(), 1e-7)


def test_a_drift_over_many_rounds_stays_that_of_float32(memory):
    """Drafts of four with two accepted, 10 rounds: the state is as near to float64 as plain steps would leave it."""
    case = DeltaCase(memory, [24], heads=(1, 1), dims=(32, 16), decay_rate=torch.tensor([-0.02]))
    qkv, a, b, rate, bias, states, _, slots, n_key_heads = case.placed
    bounds, accepted = memory.place(torch.tensor([0, 4])), memory.place(torch.tensor([2]))
    for start in range(0, 20, 2):
        rows = slice(start, start + 4)
        _, *journal = kernels.drafted_delta_rule(
            qkv[rows], a[rows], b[rows], rate, bias, states, bounds, slots, n_key_heads
        )
        kernels.fold(*journal, states, bounds, slots, accepted)
    exact = case.exact()
    q, k, v = reference.split_heads(exact[0][:20], 1, 1, 16)
    g, beta = reference.decay_and_write_strength(exact[1][:20], exact[2][:20], exact[3], exact[4])
    _, truth = reference.delta_rule(q, k, v, g, beta, exact[5][case.used[0]])
    assert_close(case.states_after[0], truth, 2e-6)


def test_padding_rows_touch_nothing_and_read_as_zero(memory):
    case = DeltaCase(memory, [2, 3], slots=[-1, 1], may_change=False)
    for result in kernels.drafted_delta_rule(*case.placed):
        assert (result[:2] == 0).all()
        assert torch.isfinite(result).all()
    journal = [memory.place(torch.randn(5, *shape)) for shape in ((1, 32), (2, 32), (2,))]
    kernels.fold(*journal, *case.placed[5:7], memory.place(torch.tensor([-1, 1])), memory.place(torch.tensor([2, 0])))
