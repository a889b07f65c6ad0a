"""Python source as a syntax tree, for whoever reads code without running it: to be read and not changed.

Python 3.11 counts how deep its parser stands in one number for all threads: when pages of two visitors parsed at once,
one of them failed with "AST constructor recursion depth mismatch".
"""

from __future__ import annotations

import ast
import threading
from functools import lru_cache

_one_at_a_time = threading.Lock()


@lru_cache(maxsize=64)
def module_tree(source: str) -> ast.Module:
    """Raises SyntaxError and ValueError."""
    with _one_at_a_time:
        return ast.parse(source)


@lru_cache(maxsize=256)
def expression_tree(source: str) -> ast.Expression:
    """Raises SyntaxError and ValueError."""
    with _one_at_a_time:
        return ast.parse(source, mode="eval")
