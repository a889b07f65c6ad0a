"""Compiling the C++ operations for this very processor, once, into the user's cache folder.

A compiler and a few seconds are all it takes; neither Python's nor torch's headers are needed, since the library speaks
plain pointers. The file's name is made from everything that decides its content (sources, flags, compiler,
processor), so another compiler or a cache folder shared between machines never yields a wrong library.

    python -m kernels.build     compiles now, and prints where the library is
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCES = Path(__file__).with_name("cpp")
FLAGS = ("-O3", "-std=c++17", "-shared", "-fPIC", "-pthread", "-fno-math-errno", "-fno-trapping-math")
# How compilers are told to use all that this processor can; the first that the compiler takes.
PROCESSOR_FLAGS = ("-march=native", "-mcpu=native")


class BuildError(RuntimeError):
    """The C++ operations cannot be compiled here; the message says why."""


def library() -> Path:
    """Path of the compiled library, compiling it if this machine has not yet; raises BuildError."""
    path = place()
    if not path.exists():
        _compile(compiler(), path)
    return path


def place() -> Path:
    """Where the library of these sources, this compiler and this processor is, or will be; raises BuildError."""
    return cache_folder() / f"operations-{_key(compiler())}{'.dll' if sys.platform == 'win32' else '.so'}"


def cache_folder() -> Path:
    """Where compiled libraries are kept: TWOSPEEDS_CACHE, or the user's cache folder by the system's custom."""
    if chosen := os.environ.get("TWOSPEEDS_CACHE"):
        return Path(chosen) / "kernels"
    home = Path.home()
    base = (
        home / "Library/Caches"
        if sys.platform == "darwin"
        else Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache")
    )
    return base / "two-speeds" / "kernels"


def compiler() -> str:
    """Path of the C++ compiler: CXX, or the first of the usual ones; raises BuildError."""
    named = os.environ.get("CXX")
    found = next(
        (path for name in ([named] if named else ["g++", "clang++", "c++"]) if (path := shutil.which(name))), None
    )
    if found is None:
        raise BuildError("no C++ compiler found (looked for " + (named or "g++, clang++, c++") + ")")
    return found


def _key(compiler: str) -> str:
    """Hash of whatever the library's content depends on."""
    digest = hashlib.sha256()
    for source in sorted(SOURCES.iterdir()):
        digest.update(source.name.encode() + source.read_bytes())
    version = subprocess.run([compiler, "--version"], capture_output=True, check=False).stdout
    for part in (compiler.encode(), version, repr((FLAGS, PROCESSOR_FLAGS)).encode(), _processor().encode()):
        digest.update(part)
    return digest.hexdigest()[:24]


def _processor() -> str:
    """What the processor can do: a library made for another one may hold instructions that it lacks."""
    listed = Path("/proc/cpuinfo")
    lines = listed.read_text(errors="replace").splitlines() if listed.exists() else []
    features = next((line for line in lines if line.lower().startswith(("flags", "features"))), "")
    return f"{platform.machine()} {platform.processor()} {features}"


def _compile(compiler: str, path: Path) -> None:
    """Compile beside `path` and move into place, so that no one ever loads half a library; two at once do no harm."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, draft = tempfile.mkstemp(dir=path.parent, suffix=path.suffix)
        os.close(handle)
    except OSError as error:
        raise BuildError(f"the cache folder {path.parent} cannot be written: {error}") from error
    try:
        complaint = ""
        for processor_flags in ([flag] for flag in PROCESSOR_FLAGS):
            complaint = _run(
                [compiler, *FLAGS, *processor_flags, "-o", draft, *map(str, sorted(SOURCES.glob("*.cpp")))]
            )
            if not complaint:
                Path(draft).replace(path)
                return
        raise BuildError(f"{compiler} refuses the C++ operations: {complaint[-2000:]}")
    finally:
        Path(draft).unlink(missing_ok=True)


def _run(command: list[str]) -> str:
    """What the compiler complains of; empty when it is content."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return "" if done.returncode == 0 else done.stderr or f"exit status {done.returncode}"


def main() -> int:
    """Compile now, so that the first start need not: `python -m kernels.build`. Without a compiler, say what runs."""
    try:
        print(f"C++ operations: {library()}")
    except BuildError as error:
        print(f"The C++ operations cannot be compiled, so the slower torch path will run: {error}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
