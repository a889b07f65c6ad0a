"""One table: operation -> implementation. The model calls through it, tests replace entries, the record names them.

An implementation is a module of `kernels` with functions of the names in `OPERATIONS`; it may lack some. For each
operation the first module of the device's `PREFERENCE` that has it and works here is taken; `reference` has them all.
TWO_SPEEDS_KERNELS in the environment names a module to take before the others. A process computes on one device.
"""

from __future__ import annotations

import contextlib
import importlib
import logging
import os
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from torch import Tensor

    from kernels.weight import Quantized, Weight

OPERATIONS = (
    "embedding",
    "norm_linear",
    "linear_add",
    "swiglu_linear_add",
    "gated_delta_net",
    "gated_attention",
    "attention",
    "drafted_gated_delta_net",
    "fold_drafts",
)
# The layers of a plain step call these, and nothing else; with drafts one more.
RECORDED, RECORDED_WITH_DRAFTS = OPERATIONS[1:-2], OPERATIONS[1:-1]

PREFERENCE = {"cpu": ("native", "cpu", "reference"), "cuda": ("gpu", "reference")}

Operation = Callable[..., Any]


class Recording(Protocol):
    """The calls of a pass, noted while they were made."""

    def replay(self) -> None:
        """Make them again, on whatever the same tensors hold by then."""


class Table:
    """The operations as attributes: `table.linear_add(out, x, weight)`. Empty until `prepare`."""

    embedding: Operation
    norm_linear: Operation
    linear_add: Operation
    swiglu_linear_add: Operation
    gated_delta_net: Operation
    gated_attention: Operation
    attention: Operation
    drafted_gated_delta_net: Operation
    fold_drafts: Operation

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        self.device = "cpu"

    def put(self, operation: str, name: str, function: Operation) -> None:
        """Take this function for the operation and report it by that name, or raise LookupError for an unknown one."""
        if operation not in OPERATIONS:
            raise LookupError(f"no operation is called {operation!r}; there are {', '.join(OPERATIONS)}")
        setattr(self, operation, function)
        self.names[operation] = name


table = Table()


def prepare(device: str = "cpu") -> None:
    """Fill the table for a type of device, if that has not happened yet. Compiling may take seconds, so this is part
    of loading a model.

    Raises ValueError if the table is filled for another device: it serves every model of the process.
    """
    if table.names:
        if table.device != device:
            raise ValueError(f"this process computes on {table.device} already, so no model can be put on {device}")
        return
    table.device = device
    chosen = os.environ.get("TWO_SPEEDS_KERNELS")
    for name in dict.fromkeys([*([chosen] if chosen else []), *PREFERENCE[device]]):
        module = _implementation(name)
        for operation in OPERATIONS:
            if operation not in table.names and hasattr(module, operation):
                table.put(operation, _reported(module, name, operation), getattr(module, operation))


def arranged(weight: Tensor) -> Weight:
    """A weight [out, in] as the implementation of the products reads it fastest; every implementation can read it."""
    arrange: Callable[[Tensor], Weight] | None = getattr(_products(), "arranged", None)
    return weight if arrange is None else arrange(weight)


def quantized(weight: Tensor, bits: int, group: int | None = None) -> Quantized:
    """A weight [out, in] in 4 or 8 bits, packed as the implementation of the products reads it.

    Raises ValueError as `kernels.quantized.group_for` does.
    """
    from kernels.quantized import PackedMatrix

    pack: Callable[..., Quantized] = getattr(_products(), "quantized", PackedMatrix.pack)
    return pack(weight, bits, group)


def _products() -> ModuleType | None:
    return sys.modules.get(f"kernels.{table.names['norm_linear'].split('+')[0]}")


def _reported(module: ModuleType | None, name: str, operation: str) -> str:
    """The implementation's name for the record; a module that shares an operation with a library says so in NAMES."""
    names: dict[str, str] = getattr(module, "NAMES", {})
    return names.get(operation, name)


def recordable(*, drafts: bool = False) -> bool:
    """Whether all operations of a step's layers come from one module that can `record` its calls."""
    module, called = _recorder(), RECORDED_WITH_DRAFTS if drafts else RECORDED
    return module is not None and all(getattr(table, name) is getattr(module, name, None) for name in called)


def buffers() -> Any:
    """Room for the results of recordings of which one at a time is made or replayed; only where `recordable`."""
    module = _recorder()
    assert module is not None
    return module.Buffers()


def record(buffers: Any) -> contextlib.AbstractContextManager[Recording]:
    """Note the calls that operations make inside the block, to be replayed; only where `recordable`.

    The results lie in `buffers`, until another recording that was made in them is replayed.
    """
    module = _recorder()
    assert module is not None
    return module.record(buffers)


def runs_while_recording() -> bool:
    """Whether the calls inside a `record` block are made as well as noted. A GPU's graph only notes them."""
    return table.device == "cpu"


def _recorder() -> ModuleType | None:
    return sys.modules.get("kernels.native" if table.device == "cpu" else "kernels.gpu")


def in_use() -> dict[str, str]:
    """Operation -> the implementation that runs, for the record's `Device.kernels`."""
    prepare(table.device)
    return {operation: table.names[operation] for operation in OPERATIONS}


@contextlib.contextmanager
def override(**implementations: str | Operation) -> Iterator[None]:
    """For a while, take operations from other modules or from given functions.

    `override(gated_delta_net="reference")`; a function is reported by its own name. Raises LookupError for an
    operation or an implementation that does not exist.
    """
    prepare(table.device)
    before = {operation: (name, getattr(table, operation)) for operation, name in table.names.items()}
    try:
        for operation, chosen in implementations.items():
            if isinstance(chosen, str):
                table.put(operation, chosen, _function(chosen, operation))
            else:
                table.put(operation, getattr(chosen, "__name__", "override"), chosen)
        yield
    finally:
        for operation, (name, function) in before.items():
            table.put(operation, name, function)


def override_all(implementation: str) -> contextlib.AbstractContextManager[None]:
    """`override` of every operation that the module has; the others stay as they are."""
    module = importlib.import_module(f"kernels.{implementation}")
    return override(**{operation: implementation for operation in OPERATIONS if hasattr(module, operation)})


def _function(implementation: str, operation: str) -> Operation:
    function: Operation | None = getattr(importlib.import_module(f"kernels.{implementation}"), operation, None)
    if function is None:
        raise LookupError(f"kernels.{implementation} has no {operation}")
    return function


def _implementation(name: str) -> ModuleType | None:
    """The module, or None with a warning where it cannot work here (no compiler, say): the next one serves."""
    try:
        return importlib.import_module(f"kernels.{name}")
    except (ImportError, OSError, RuntimeError) as error:
        logging.getLogger(__name__).warning("kernels.%s is not used: %s", name, error)
        return None
