"""Python source as a syntax tree, for whoever reads code without running it."""

from __future__ import annotations

import ast
import threading
from functools import lru_cache
from typing import Literal

_one_at_a_time = threading.Lock()


@lru_cache(maxsize=256)
def syntax_tree(source: str, mode: Literal["exec", "eval"] = "exec") -> ast.AST:
    """The tree of a module or of an expression, to be read and not changed; raises SyntaxError and ValueError.

    Python 3.11 counts how deep it stands in one number for all threads: when pages of two visitors parsed at once, one
    of them failed with "AST constructor recursion depth mismatch".
    """
    with _one_at_a_time:
        return ast.parse(source, mode=mode)
