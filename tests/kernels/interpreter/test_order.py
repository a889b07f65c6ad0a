"""Programs of a kernel run in any order on a GPU; the interpreter runs them one after another, here also backwards."""

import pytest
import torch

from kernels import gpu as kernels
from tests.kernels.interpreter.attention_cases import AttentionCase
from tests.kernels.interpreter.delta_cases import DeltaCase
from tests.kernels.interpreter.memory import DEVICE
from tests.kernels.interpreter.test_conv import Case as ConvCase

pytestmark = pytest.mark.skipif(DEVICE != "cpu", reason="a GPU chooses the order itself")


def convolution(memory):
    case = ConvCase(memory, [40, 2, 17])
    return kernels.causal_conv(*case.placed), case.placed[2][case.used]


def one_token(memory):
    case = DeltaCase(memory, [1, 1])
    return kernels.gated_delta_rule(*case.placed), case.states_after


def chunks(memory):
    case = DeltaCase(memory, [70, 3], dims=(16, 40))
    return kernels.gated_delta_rule(*case.placed), case.states_after


def drafts(memory):
    case = DeltaCase(memory, [2, 3])
    out, *journal = kernels.drafted_delta_rule(*case.placed)
    kernels.fold(*journal, *case.placed[5:8], memory.place(torch.tensor([1, 3])))
    return out, *journal, case.states_after


def prompts(memory):
    return (kernels.paged_attention(*AttentionCase(memory, [(0, 70), (3, 3)]).placed),)


def steps(memory):
    return (kernels.paged_attention(*AttentionCase(memory, [(200, 1), (3, 1)]).placed),)


@pytest.mark.parametrize("run", (convolution, one_token, chunks, drafts, prompts, steps))
def test_no_program_depends_on_another_having_run(memory, monkeypatch, run):
    from triton.runtime.interpreter import interpreter_builder as interpreter

    forwards = run(memory)
    set_index, visited = interpreter.set_grid_idx, set()

    def set_last_first(x, y, z):
        width, height, depth = interpreter.grid_dim
        visited.add((x, y, z))
        set_index(width - 1 - x, height - 1 - y, depth - 1 - z)

    monkeypatch.setattr(interpreter, "set_grid_idx", set_last_first)
    backwards = run(memory)
    assert len(visited) > 1
    for forward, backward in zip(forwards, backwards, strict=True):
        assert torch.equal(forward, backward)
