"""The software: Python, torch, the compiled operations, a GPU, Ray, and a browser for the tests."""

from __future__ import annotations

import importlib
import platform
import shutil
import subprocess
import sys
from importlib import metadata

from engine.preflight.finding import Finding, fine, missing, without
from kernels import build

OLDEST_PYTHON = (3, 11)
VECTORS = {"__AVX512F__": "AVX-512", "__AVX2__": "AVX2", "__ARM_NEON": "NEON", "__SSE2__": "SSE2"}
"""What the compiler defines for this processor -> the name of its vectors; widest first, as in kernels/cpp/lanes.h."""
WIDTHS = {"AVX-512": 16, "AVX2": 8, "NEON": 4, "SSE2": 4}
"""fp32 numbers in one vector."""


def python() -> Finding:
    """The interpreter that runs this."""
    found = f"{platform.python_version()}, {platform.machine()}"
    if sys.version_info < OLDEST_PYTHON:
        return missing("Python", found, "Install Python 3.11 or newer, then: make clean, make run PYTHON=python3.12")
    return fine("Python", found)


def torch() -> Finding:
    """PyTorch, and what it was built for."""
    try:
        import torch
    except Exception as error:  # a broken build raises whatever its loader does
        return missing("PyTorch", f"{type(error).__name__}: {error}", "Install it: make run, or pip install torch")
    cuda = torch.version.cuda
    return fine("PyTorch", f"{torch.__version__}, " + (f"built for CUDA {cuda}" if cuda else "CPU build"))


def operations() -> list[Finding]:
    """The C++ compiler, the operations that it compiles, and the vectors that they use."""
    try:
        compiler, library = build.compiler(), build.place()
    except build.BuildError as error:
        advice = "Slower torch operations run instead. To have it: apt-get install g++, or xcode-select --install"
        return [without("C++ compiler", str(error), advice)]
    if library.exists():
        built = fine("Compiled operations", "ready, for this processor")
    else:
        advice = "The first start compiles them, in under a minute; now: python -m kernels.build"
        built = without("Compiled operations", "not compiled for this processor yet", advice)
    return [fine("C++ compiler", compiler), built, _vectors(compiler)]


def _vectors(compiler: str) -> Finding:
    """What the compiler takes this processor for; the same flag decides it when the operations are compiled."""
    for flag in build.PROCESSOR_FLAGS:
        command = [compiler, flag, "-dM", "-E", "-x", "c++", "-"]
        told = subprocess.run(command, input="", capture_output=True, text=True, timeout=60, check=False)
        if told.returncode == 0:
            defined = {line.split()[1] for line in told.stdout.splitlines() if line.startswith("#define ")}
            name = next((name for macro, name in VECTORS.items() if macro in defined), None)
            if name:
                return fine("Vectors", f"{name}, {WIDTHS[name]} fp32 numbers at a time")
    return without("Vectors", "the compiler does not tell", "The operations still compile; they may be slower.")


def gpu() -> Finding:
    """A GPU that torch can use. The app needs none."""
    try:
        import torch

        names = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    except Exception:  # said by `torch` already
        names = []
    if names:
        return fine("GPU", ", ".join(names))
    if shutil.which("nvidia-smi"):
        return without("GPU", "there is a driver, but torch sees no GPU", "Install a CUDA build of torch: pytorch.org")
    return without("GPU", "none that torch sees", "Nothing to do: the engine computes on the CPU.")


def triton() -> Finding:
    """Triton, in which the GPU kernels are written."""
    version = _version("triton")
    if version is None:
        return without("Triton", "not installed", "Only the GPU kernels and their tests need it (Linux).")
    return fine("Triton", version)


def ray() -> Finding:
    """Ray, for several engines behind one address."""
    version = _version("ray")
    if version is None:
        return without("Ray", "not installed", "Only a cluster needs it: pip install -r requirements-cluster.txt")
    return fine("Ray", version)


def browser() -> Finding:
    """A browser that the tests can drive; the app's visitors bring their own."""
    try:
        path = importlib.import_module("tests.browser.install").find()
    except Exception:  # no tests beside the engine, or no playwright
        return without("Browser for tests", "the tests are not installed here", "Only make test needs it.")
    if path is None:
        return without("Browser for tests", "none found", "make browser brings one; only make test needs it.")
    return fine("Browser for tests", path)


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
