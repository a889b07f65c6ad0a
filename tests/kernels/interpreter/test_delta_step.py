"""One token of the delta rule."""

import pytest
import torch

from kernels import gpu as kernels
from kernels import reference
from tests.kernels.interpreter.closeness import HALF, assert_close, tolerance
from tests.kernels.interpreter.delta_cases import GATES, DeltaCase


def check(case, dtype=torch.float32):
    truth, states = case.truth()
    assert_close(kernels.gated_delta_rule(*case.placed), truth, tolerance(dtype, float32=2e-6))
    # The state is float32 whatever the activations are.
    assert_close(case.states_after, states, 2e-6)


@pytest.mark.parametrize("dtype", (torch.float32, HALF))
@pytest.mark.parametrize("heads", ((1, 1), (2, 2), (1, 3), (2, 4)))
def test_heads_and_groups(memory, dtype, heads):
    check(DeltaCase(memory, [1, 1], heads=heads, dtype=dtype), dtype)


@pytest.mark.parametrize("dims", ((32, 64), (64, 32), (128, 128), (24, 20)))
def test_widths_of_keys_and_values(memory, dims):
    check(DeltaCase(memory, [1], dims=dims))


@pytest.mark.parametrize("gates", GATES)
def test_extreme_gates(memory, gates):
    check(DeltaCase(memory, [1, 1, 1], gates=gates, seed=3))


@pytest.mark.parametrize("rate", (0.0, -16.0))
def test_decay_rates_at_both_ends(memory, rate):
    check(DeltaCase(memory, [1, 1], decay_rate=torch.tensor([rate])))


def test_a_key_of_zeros_writes_nothing_and_reads_nothing(memory):
    case = DeltaCase(memory, [1], gates="everything is overwritten")
    nothing = memory.place(torch.zeros_like(case.qkv))
    assert (kernels.gated_delta_rule(nothing, *case.placed[1:]) == 0).all()
    faded = reference.decay_and_write_strength(*case.exact()[1:5])[0].exp()[0, :, None, None]
    assert_close(case.states_after[0], case.states[case.used[0]] * faded, 1e-6)


@pytest.mark.parametrize("slots", ([-1, 2, -1], [-1, -1, -1], [5, -1, 0]))
def test_padding_rows_touch_nothing_and_read_as_zero(memory, slots):
    case = DeltaCase(memory, [1, 1, 1], slots=slots)
    out = kernels.gated_delta_rule(*case.placed)
    padding = [i for i, slot in enumerate(slots) if slot < 0]
    assert (out[padding] == 0).all()
    alone = DeltaCase(memory, [1, 1, 1], slots=[slot if slot >= 0 else 4 for slot in slots])
    kept = [i for i in range(3) if i not in padding]
    assert torch.equal(out[kept], kernels.gated_delta_rule(*alone.placed)[kept])


def test_many_sequences_take_wider_blocks_and_give_the_same(memory, monkeypatch):
    narrow, wide = DeltaCase(memory, [1, 1]), DeltaCase(memory, [1, 1])
    out = kernels.gated_delta_rule(*narrow.placed)
    monkeypatch.setattr("kernels.triton.delta_step.block_v", lambda *_: 32)
    assert_close(kernels.gated_delta_rule(*wide.placed), out.double(), 1e-6)
    assert_close(wide.states_after, narrow.states_after.double(), 1e-6)
