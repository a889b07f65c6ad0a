"""Collected where Triton runs: under its interpreter (tests/kernels/test_triton_interpreter.py starts that), or on a
GPU.
"""

import os

import pytest
import torch

from tests.kernels.interpreter.memory import GuardedMemory

if os.environ.get("TRITON_INTERPRET") != "1" and not torch.cuda.is_available():
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(autouse=True)
def memory(monkeypatch):
    """Where a test puts its tensors. What kernels allocate comes from here too, full of NaN; guards are checked in
    the end.
    """
    guarded = GuardedMemory()
    monkeypatch.setattr(torch, "empty", guarded.empty)
    yield guarded
    guarded.check()
