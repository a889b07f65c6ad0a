"""Training as a whole, on a few made-up stories."""

import signal

import pytest
import torch

from training import optimizers
from training.optimizers import rate_factor
from training.state import TrainingState
from training.train import stop_on_signals, train_step


@pytest.fixture(autouse=True)
def quick_where_bf16_is_not(monkeypatch):
    """Muon's iteration is in bfloat16. Without instructions for it a step takes 25 s here instead of 4: the same in
    float32, then, for what is tested does not depend on it.
    """
    if not torch.ops.mkldnn._is_mkldnn_bf16_supported():
        monkeypatch.setattr(torch.Tensor, "bfloat16", torch.Tensor.float)


def rows(seed):
    return torch.randint(1, 4096, (2, 33), generator=torch.Generator().manual_seed(seed))


def test_a_resumed_run_takes_the_same_next_step(tmp_path):
    state = TrainingState.fresh(seed=5)
    for step in range(2):
        train_step(state, rows(step))
    state.save(tmp_path / "state.pt")
    resumed = TrainingState.load(tmp_path / "state.pt")
    assert (resumed.step, resumed.tokens, resumed.position) == (state.step, state.tokens, state.position)
    assert train_step(resumed, rows(2)) == train_step(state, rows(2))
    for (name, a), b in zip(state.model.named_parameters(), resumed.model.parameters(), strict=True):
        assert torch.equal(a, b), name
        assert torch.equal(state.average[name], resumed.average[name]), name


def test_the_same_seed_gives_the_same_weights_and_another_seed_others():
    a, b, c = (TrainingState.fresh(seed).model.model.embed_tokens.weight for seed in (1, 1, 2))
    assert torch.equal(a, b)
    assert not torch.equal(a, c)


def test_the_loss_falls_when_the_same_rows_come_again():
    state = TrainingState.fresh(seed=0)
    losses = [train_step(state, rows(0)) for _ in range(6)]
    assert losses[-1] < losses[0] - 1


def test_the_average_is_swapped_in_and_back_without_a_trace():
    state = TrainingState.fresh(seed=0)
    train_step(state, rows(0))
    train_step(state, rows(1))
    before = {name: p.clone() for name, p in state.model.named_parameters()}
    state.swap_average()
    assert any(not torch.equal(p, before[name]) for name, p in state.model.named_parameters())
    state.swap_average()
    assert all(torch.equal(p, before[name]) for name, p in state.model.named_parameters())


def test_every_parameter_has_exactly_one_optimizer():
    state = TrainingState.fresh(seed=0)
    taken = [p for optimizer in state.optimizers for group in optimizer.param_groups for p in group["params"]]
    assert {id(p) for p in taken} == {id(p) for p in state.model.parameters()}
    assert len(taken) == len({id(p) for p in taken})


def test_the_rate_rises_shortly_then_falls_to_almost_nothing():
    assert rate_factor(0.0) < 0.05
    assert rate_factor(optimizers.WARM_UP) == pytest.approx(1.0)
    assert rate_factor(0.3) > rate_factor(0.6) > rate_factor(0.99)
    assert rate_factor(1.0) == pytest.approx(optimizers.FLOOR)


def test_a_termination_signal_asks_for_a_stop_and_does_not_kill():
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        stopped = stop_on_signals()
        assert not stopped()
        signal.raise_signal(signal.SIGTERM)
        assert stopped()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
