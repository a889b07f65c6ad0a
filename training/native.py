"""Build and load the two C++ files beside this one, where the machine has a compiler."""

import functools
import shutil
from pathlib import Path

FLAGS = ["-O3", "-march=native", "-ffast-math", "-mprefer-vector-width=512"]


def available() -> bool:
    """Whether C++ can be compiled here: g++ and ninja are needed."""
    return shutil.which("g++") is not None and shutil.which("ninja") is not None


@functools.cache
def load(name: str) -> None:
    """Build `{name}.cpp` (once a machine, in about 15 s, then torch's cache has it) and register its operations.

    They are then found as `torch.ops.training_{name}.*`.

    Raises:
        RuntimeError: the compiler failed; its output is in the message.
    """
    from torch.utils import cpp_extension

    source = Path(__file__).with_name(f"{name}.cpp")
    cpp_extension.load(f"training_{name}", [str(source)], extra_cflags=FLAGS, is_python_module=False)
