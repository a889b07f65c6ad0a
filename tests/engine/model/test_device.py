"""A model on another device: everything that a pass needs is brought there, and what it makes stays there.

No GPU is needed for that: torch has a device without memory ("meta"), and the operations are stand-ins that look at
where their arguments are.
"""

import pytest
import torch
from torch import Tensor

from engine.loop.loading import NoSuchDevice, find_device
from engine.memory.memory import Memory
from engine.model.batch import Span
from engine.model.journal import Journal
from engine.model.model import Model
from kernels import dispatch
from kernels.reference_drafts import Journal as Entry
from tests.engine.small_model import write_small_model

META = torch.device("meta")


def on_meta(*arguments: object) -> None:
    strays = [one for one in arguments if isinstance(one, Tensor) and one.device != META]
    assert not strays, f"left on the CPU: {[tuple(one.shape) for one in strays]}"


@pytest.fixture
def elsewhere(monkeypatch):
    """The table as it would be on another device; the process is given back its own afterwards."""
    dispatch.prepare()
    before = {operation: getattr(dispatch.table, operation) for operation in dispatch.OPERATIONS}
    monkeypatch.setattr(dispatch.table, "names", dict(dispatch.table.names))
    monkeypatch.setattr(dispatch.table, "device", "meta")

    def embedding(ids, table):
        on_meta(ids, table)
        return torch.empty(len(ids), table.shape[1], device=META)

    def norm_linear(x, scale, eps, weight):
        on_meta(x, scale, weight)
        return torch.empty(len(x), len(weight), device=META)

    def add(out, x, weight):
        on_meta(out, x, weight)

    def delta_net(*arguments):
        on_meta(*arguments)
        projected, states = arguments[0], arguments[7]
        heads = torch.empty(len(projected), states.shape[1] * states.shape[2], device=META)
        return heads if len(arguments) == 10 else (heads, Entry(*(torch.empty(1, device=META) for _ in range(4))))

    def attention(projected, *rest):
        on_meta(projected, *rest)
        keys = rest[4]
        return torch.empty(len(projected), projected.shape[1] // 2 - keys.shape[0] * keys.shape[3], device=META)

    def fold(entry, *rest):
        on_meta(*entry, *rest)

    for operation, stand_in in {
        "embedding": embedding, "norm_linear": norm_linear, "linear_add": add, "swiglu_linear_add": add,
        "gated_delta_net": delta_net, "drafted_gated_delta_net": delta_net, "gated_attention": attention,
        "fold_drafts": fold,
    }.items():  # fmt: skip
        dispatch.table.put(operation, "elsewhere", stand_in)
    yield
    for operation, function in before.items():
        setattr(dispatch.table, operation, function)


def test_all_that_an_operation_is_given_lies_where_the_model_is(tmp_path, elsewhere):
    model = Model.load(write_small_model(tmp_path), device=META)
    memory: Memory = model.new_memory(n_slots=3, n_positions=64)
    first, second = memory.open(), memory.open()
    memory.extend(first, 5)
    memory.extend(second, 3)
    spans = [Span([1, 2, 3, 4, 5], 0, "prefill", first), Span([6, 7, 8], 0, "decode", second, "all", drafted=True)]
    journal = Journal()
    logits = model.forward(spans, memory, journal)
    assert (logits.shape, logits.device) == ((4, 257), META)
    journal.fold([-1, 2])
    memory.fork(first)


def test_a_process_computes_on_one_device(tmp_path):
    dispatch.prepare()
    with pytest.raises(ValueError, match="computes on cpu already"):
        Model.load(write_small_model(tmp_path), device=torch.device("cuda"))


@pytest.mark.parametrize("name", ["gpu", "cudax", "mps", "cuda:-1", ""])
def test_a_device_that_no_model_is_put_on(name):
    with pytest.raises(NoSuchDevice, match="cpu, cuda or cuda:1"):
        find_device(name)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_the_reason_is_told():
    with pytest.raises(NoSuchDevice, match="torch sees no GPU"):
        find_device("cuda")
