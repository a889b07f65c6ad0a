"""Programs of a kernel run in any order on a GPU; the interpreter runs them one after another, here also backwards."""

import pytest
import torch

from benchmarks.kernel_calls import Inputs, calls
from tests.kernels.interpreter.memory import DEVICE
from tests.kernels.interpreter.test_benchmark_calls import SMALL

pytestmark = pytest.mark.skipif(DEVICE != "cpu", reason="a GPU chooses the order itself")


def results(passes):
    """What every kernel gives, twice, so that what the first run left in states and windows shows in the second."""
    torch.manual_seed(0)
    return [
        (call.name, run, call.run()) for call in calls(Inputs(SMALL, *passes, DEVICE, torch.float32)) for run in (1, 2)
    ]


@pytest.mark.parametrize("passes", ((2, 1, 20), (2, 3, 20), (2, 70, 0)))
def test_no_program_depends_on_another_having_run(monkeypatch, passes):
    from triton.runtime.interpreter import interpreter_builder as interpreter

    forwards = results(passes)
    set_index, visited = interpreter.set_grid_idx, []

    def set_last_first(x, y, z):
        width, height, depth = interpreter.grid_dim
        visited.append((x, y, z))
        set_index(width - 1 - x, height - 1 - y, depth - 1 - z)

    monkeypatch.setattr(interpreter, "set_grid_idx", set_last_first)
    backwards = results(passes)
    assert len(visited) > len(forwards)
    for (name, run, forward), (_, _, backward) in zip(forwards, backwards, strict=True):
        assert torch.equal(forward, backward), f"{name}, run {run}"
