from __future__ import annotations

import importlib
from types import ModuleType

import pytest


@pytest.fixture(params=["cpu", "native"])
def fast(request: pytest.FixtureRequest, poisoned_memory: None) -> ModuleType:
    """An implementation that claims to compute what `reference` says; fresh memory is NaN while it runs."""
    return importlib.import_module(f"kernels.{request.param}")
