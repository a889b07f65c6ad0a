"""Collected where Triton runs: on a GPU, or under its interpreter, as tests/kernels/test_triton_interpreter.py does."""

import os

import pytest
import torch

from tests.kernels.interpreter.memory import GuardedMemory

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"

if not INTERPRETED and not torch.cuda.is_available():
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(autouse=True)
def memory(monkeypatch):
    """Where a test puts its tensors. What kernels allocate comes from here too, full of NaN; guards are checked."""
    guarded = GuardedMemory()
    monkeypatch.setattr(torch, "empty", guarded.empty)
    yield guarded
    guarded.check()


@pytest.fixture(autouse=INTERPRETED, scope="session")
def patched_once():
    """Half of the interpreter's time goes into patching Triton's language again at each call within a kernel.

    It is patched when the kernel starts; leave out the rest. Without these internals it is slower, and that is all.
    """
    import triton.language as tl
    from triton.runtime import interpreter

    patch, nothing = getattr(interpreter, "_patch_lang", None), getattr(interpreter, "_LangPatchScope", None)
    if patch is None or nothing is None:
        return

    def patch_if_needed(function):
        languages = [value for value in function.__globals__.values() if value is tl or value is tl.core]
        if languages and not any(tl.core.is_builtin(language.load) for language in languages):
            return nothing()
        return patch(function)

    interpreter._patch_lang = patch_if_needed
