"""The Triton kernels without a GPU: run by Triton's interpreter, and compiled for a GPU that is not there.

Triton reads TRITON_INTERPRET when it is imported, and an interpreted kernel cannot be compiled, so each has its own
process.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SUITE = "tests/kernels/interpreter"
KERNELS = ROOT / "kernels" / "triton"

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("triton") is None, reason="Triton is not made for this platform"
)


def python(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run Python in the project's root, on one thread."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("TRITON_")}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=inherited | {"OMP_NUM_THREADS": "1"} | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def interpreted(*arguments: str) -> subprocess.CompletedProcess[str]:
    return python("-m", "pytest", SUITE, "-p", "no:cacheprovider", *arguments, TRITON_INTERPRET="1")


def test_every_kernel_computes_its_statement_under_the_interpreter() -> None:
    done = interpreted()
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed and int(passed[1]) > 200, done.stdout[-500:]
    assert "skipped" not in done.stdout, done.stdout[-500:]


def test_a_suite_that_collects_nothing_fails() -> None:
    assert interpreted("-k", "no_test_has_this_name").returncode != 0


def test_every_kernel_compiles_for_a_gpu(tmp_path: Path) -> None:
    done = python("-m", "tests.kernels.compile_for_gpu", TRITON_CACHE_DIR=str(tmp_path))
    assert done.returncode == 0, done.stderr[-8000:]
    compiled = [json.loads(line) for line in done.stdout.splitlines()]
    written = {
        name
        for file in KERNELS.glob("*.py")
        for name in re.findall(r"@triton\.jit\ndef (\w+)\(\n(?:.*\n)*?\) -> None:", file.read_text(encoding="utf-8"))
    }
    device_functions = {"move_window"}
    assert {kernel["kernel"] for kernel in compiled} == written - device_functions
    # What a block may have of a multiprocessor's memory on a GPU of compute capability 9.0.
    assert all(kernel["shared"] <= 227 * 1024 for kernel in compiled), compiled
    assert all(kernel["code_bytes"] > 0 for kernel in compiled)


def test_a_cpu_needs_no_triton() -> None:
    """The engine's own path imports neither the kernels nor Triton."""
    done = python("-c", "import sys; from kernels import dispatch; dispatch.prepare(); print(*sys.modules)")
    assert done.returncode == 0, done.stderr
    modules = done.stdout.split()
    assert "kernels.reference" in modules
    assert not [name for name in modules if name.startswith(("triton.", "kernels.triton", "kernels.gpu"))]


def test_each_kernel_is_a_page_to_read() -> None:
    for file in KERNELS.glob("*.py"):
        source = file.read_text(encoding="utf-8")
        assert source.count("\n") < 150, file.name
        assert "autotune" not in source, file.name
        assert source.startswith('"""'), file.name
