"""One table: operation -> implementation. The model calls through it, tests replace entries, the record names them.

An implementation is a module of `kernels` with functions of the names in `OPERATIONS`; it may lack some. For each operation
the first module of `PREFERENCE` that has it and is available here is taken; `reference` has them all.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

OPERATIONS = (
    "embedding",
    "norm_linear",
    "linear_add",
    "swiglu_linear_add",
    "gated_delta_net",
    "gated_attention",
)

PREFERENCE = ("native", "cpu", "reference")

Operation = Callable[..., Any]


class Table:
    """The operations as attributes: `table.linear_add(out, x, weight)`."""

    embedding: Operation
    norm_linear: Operation
    linear_add: Operation
    swiglu_linear_add: Operation
    gated_delta_net: Operation
    gated_attention: Operation

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def choose(self, operation: str, implementation: str) -> None:
        """Take the operation from that module; raises LookupError if it has none."""
        if operation not in OPERATIONS:
            raise LookupError(f"no operation is called {operation!r}; there are {', '.join(OPERATIONS)}")
        function = getattr(importlib.import_module(f"kernels.{implementation}"), operation, None)
        if function is None:
            raise LookupError(f"kernels.{implementation} has no {operation}")
        self.put(operation, implementation, function)

    def put(self, operation: str, name: str, function: Operation) -> None:
        """Take this very function, and report it by that name."""
        setattr(self, operation, function)
        self._names[operation] = name

    def in_use(self) -> dict[str, str]:
        """Operation -> the implementation that runs."""
        return dict(self._names)


table = Table()


def _fill() -> None:
    for operation in OPERATIONS:
        for implementation in PREFERENCE:
            try:
                table.choose(operation, implementation)
            except LookupError:
                continue
            break


def in_use() -> dict[str, str]:
    """Operation -> the implementation that runs, for the record's `Device.kernels`."""
    return table.in_use()


@contextmanager
def override(**implementations: str | Operation) -> Iterator[None]:
    """For a while, take operations from other modules or from given functions.

    `override(gated_delta_net="reference")`; a function is reported by its name. `override_all("reference")` takes every one.
    """
    before = {operation: (table._names[operation], getattr(table, operation)) for operation in implementations}
    try:
        for operation, chosen in implementations.items():
            if isinstance(chosen, str):
                table.choose(operation, chosen)
            else:
                table.put(operation, getattr(chosen, "__name__", "override"), chosen)
        yield
    finally:
        for operation, (name, function) in before.items():
            table.put(operation, name, function)


def override_all(implementation: str) -> Any:
    """`override` of every operation that the module has; the others stay as they are."""
    module = importlib.import_module(f"kernels.{implementation}")
    return override(**{name: implementation for name in OPERATIONS if hasattr(module, name)})


_fill()
