"""What the GPU benchmark calls and checks, on a model small enough to run here."""

import msgspec
import pytest
import torch

from benchmarks.kernel_calls import Inputs, calls
from engine.account.cost import PRESET_SHAPES
from tests.kernels.interpreter.closeness import HALF, assert_close, tolerance
from tests.kernels.interpreter.memory import DEVICE

SMALL = msgspec.structs.replace(
    PRESET_SHAPES["Qwen3.5-0.8B"], hidden_size=128, intermediate_size=96, num_attention_heads=2, num_key_value_heads=1,
    head_dim=64, linear_num_key_heads=1, linear_num_value_heads=2, linear_key_head_dim=32, linear_value_head_dim=32,
)  # fmt: skip


@pytest.mark.parametrize("passes", ((2, 1, 20), (1, 3, 20), (1, 18, 0)))
def test_every_call_gives_its_truth_and_its_peers_run(passes):
    names = []
    for call in calls(Inputs(SMALL, *passes, DEVICE, HALF)):
        truth = call.truth()
        assert_close(call.run(), truth, tolerance(HALF, float32=1e-5, roundings=5))
        assert call.least_bytes > 0
        for peer in call.peers.values():
            assert torch.isfinite(peer()).all()
        names.append(call.name)
    assert {"RMS norm", "SwiGLU", "causal convolution", "delta rule", "gated RMS norm", "attention"} < set(names)
    assert ("int4 product" in names) == (passes[0] * passes[1] <= 8)
    assert ("fold of accepted drafts" in names) == (passes[1] == 3)


def test_peers_of_attention_are_the_same_attention():
    """torch's, times the gate that it lacks: otherwise the comparison would be of different things."""
    inputs = Inputs(SMALL, 2, 1, 20, DEVICE, torch.float32)
    (call,) = [call for call in calls(inputs) if call.name == "attention"]
    (peer,) = call.peers.values()
    ratio = call.run() / peer().transpose(1, 2).flatten(2).flatten(0, 1)
    assert ((ratio > 0) & (ratio < 1)).all()
