"""A small model on these kernels, from tokens to logits, as the engine runs it."""

import contextlib

import pytest
import torch

from engine.model import recorded_step
from engine.model.batch import Span
from engine.model.model import Model
from engine.model.recorded_step import Parts, RecordedSteps
from kernels import dispatch
from kernels.quantized_rows import QuantizedRows
from tests.engine.small_model import write_small_model
from tests.kernels.interpreter.closeness import assert_close
from tests.kernels.interpreter.memory import DEVICE

pytestmark = pytest.mark.skipif(
    DEVICE != "cpu", reason="the model is on the CPU here; benchmarks.engine_gpu runs one on a card"
)


def loaded(folder, weights="bf16"):
    """The small model with its weights as these kernels read them, in float32 or quantized."""
    with dispatch.override_all("gpu"):
        return Model.load(write_small_model(folder), dtype=torch.float32, kv_dtype=torch.float32, weights=weights)


def logits_of(model, passes):
    """Logits of every row of every pass; a pass is a list of (sequence, token ids)."""
    memory = model.new_memory(n_slots=3, n_positions=200)
    memory.poison_free()
    holdings, rows = {}, []
    for spans in passes:
        batch = []
        for name, ids in spans:
            holding = holdings.setdefault(name, None) or memory.open()
            holdings[name] = holding
            start = memory.extend(holding, len(ids))
            batch.append(Span(ids, start, "prefill" if len(ids) > 1 else "decode", holding, logits="all"))
        rows.append(model.forward(batch, memory))
    return torch.cat(rows)


def test_prompts_and_steps_give_the_logits_of_the_plain_statements(tmp_path):
    """Prompts packed with a step, then steps together: convolution, delta rule, attention and memory, all at once."""
    model = loaded(tmp_path)
    first, second = torch.randint(0, 256, (18,)).tolist(), torch.randint(0, 256, (5,)).tolist()
    passes = [[("a", first)], [("a", [7]), ("b", second)], [("b", [1]), ("a", [2])], [("a", [3]), ("b", [4])]]
    with dispatch.override_all("reference"):
        truth = logits_of(model, passes)
    with dispatch.override_all("gpu"):
        assert {dispatch.in_use()[operation] for operation in model.operations(drafts=True)} == {"gpu"}
        result = logits_of(model, passes)
    # Both are float32, through four layers.
    assert_close(result, truth.double(), 1e-4)
    assert torch.equal(result.argmax(1), truth.argmax(1))


def test_a_model_in_fewer_bits_gives_the_logits_of_what_its_numbers_stand_for(tmp_path):
    model = loaded(tmp_path, "int4")
    assert isinstance(model.head, QuantizedRows) and model.embedding is model.head
    passes = [[("a", [5, 6])], [("a", [7]), ("b", [8])]]
    with dispatch.override_all("reference"):
        truth = logits_of(model, passes)
    with dispatch.override_all("gpu"):
        assert_close(logits_of(model, passes), truth.double(), 1e-4)


class Noted:
    """What a CUDA graph is to its caller: the calls of one pass through the layers, made again on the same tensors."""

    def __init__(self, layers):
        self.layers = layers

    def __call__(self, *arguments):
        self.arguments = arguments
        self.layers(*arguments)

    def replay(self):
        self.layers(*self.arguments)


def test_a_graph_is_noted_on_nobody_s_memory_and_replayed_on_everyone_s(tmp_path, monkeypatch):
    """Noting runs nothing on a GPU, so what has to run before is run on no page and no slot: NaN would show there."""
    model = loaded(tmp_path)
    noted = Noted(model._through_layers)
    monkeypatch.setattr(recorded_step.dispatch, "recordable", lambda **_: True)
    monkeypatch.setattr(recorded_step.dispatch, "runs_while_recording", lambda: False)
    monkeypatch.setattr(recorded_step.dispatch, "record", lambda _: contextlib.nullcontext(noted))
    passes = [[("a", [5, 6, 7]), ("b", [8, 9])]] + [[("a", [n]), ("b", [n + 1])] for n in (1, 2, 3)]
    with dispatch.override_all("reference"):
        monkeypatch.setattr(model._recorded, "applies_to", lambda *_: False)
        truth = logits_of(model, passes)
    parts = Parts(model.embed, noted, model.logits)
    with dispatch.override_all("gpu"):
        monkeypatch.setattr(model, "_recorded", RecordedSteps(parts, model.config.context_length, model.device))
        result = logits_of(model, passes)
    assert_close(result, truth.double(), 1e-4)
