"""What every test may rely on: the same random numbers each time, one torch thread, NaN in unwritten memory, no
deadlines."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Iterator

import pytest
from hypothesis import settings

# An example that takes long says that the machine is busy, and nothing about the code.
settings.register_profile("house", deadline=None)
settings.load_profile("house")

# Before anything imports torch. On a busy machine two threads wait for each other at the end of every product.
os.environ.setdefault("OMP_NUM_THREADS", "1")


@pytest.fixture(autouse=True)
def same_random_numbers() -> None:
    """Every test draws the same numbers, whatever ran before it."""
    random.seed(0)
    if torch := sys.modules.get("torch"):
        torch.manual_seed(0)


@pytest.fixture
def poisoned_memory(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """`torch.empty` and its kin give NaN, so that a kernel that leaves an output unwritten is seen."""
    import torch

    def poisoned(make):  # type: ignore[no-untyped-def]
        def filled(*args, **kwargs):  # type: ignore[no-untyped-def]
            made = make(*args, **kwargs)
            return made.fill_(float("nan")) if made.is_floating_point() else made

        return filled

    for name in ("empty", "empty_like"):
        monkeypatch.setattr(torch, name, poisoned(getattr(torch, name)))
    monkeypatch.setattr(torch.Tensor, "new_empty", poisoned(torch.Tensor.new_empty))
    yield


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that drive a browser come last.

    Playwright leaves an event loop running in this thread until the session ends, and under it nobody else may start
    one. Besides, what is wrong should show in the fast tests first.
    """
    items.sort(key=lambda item: "tests/browser/" in item.path.as_posix())
