"""Build and load the two C++ files beside this one, where the machine has a compiler."""

import functools
import shutil
from pathlib import Path
from types import ModuleType

FLAGS = ["-O3", "-march=native", "-ffast-math", "-mprefer-vector-width=512"]


def available() -> bool:
    """Whether C++ can be compiled here: g++ and ninja are needed."""
    return shutil.which("g++") is not None and shutil.which("ninja") is not None


@functools.cache
def native(name: str) -> ModuleType:
    """The extension made from `{name}.cpp`: built once a machine, in about 30 s, then taken from torch's cache."""
    from torch.utils.cpp_extension import load

    return load(f"training_{name}", [str(Path(__file__).with_name(f"{name}.cpp"))], extra_cflags=FLAGS)
