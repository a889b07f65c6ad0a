"""Source is parsed for the pages of many visitors at once."""

from __future__ import annotations

import ast
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from lessons import syntax
from lessons.syntax import module_tree

SOURCES = [path.read_text(encoding="utf-8") for path in sorted(Path(syntax.__file__).parent.glob("*.py"))]


def test_two_threads_never_parse_at_the_same_moment(monkeypatch):
    """In a class, two visitors' pages did; Python 3.11 then raised SystemError on one of them."""
    parse, inside, most, lock = ast.parse, 0, 0, threading.Lock()

    def watched(*arguments, **named):
        nonlocal inside, most
        with lock:
            inside, most = inside + 1, max(most, inside + 1)
        try:
            return parse(*arguments, **named)
        finally:
            with lock:
                inside -= 1

    monkeypatch.setattr(ast, "parse", watched)
    module_tree.cache_clear()
    with ThreadPoolExecutor(8) as threads:
        trees = list(threads.map(module_tree, SOURCES))
    assert most == 1
    assert [ast.dump(tree) for tree in trees] == [ast.dump(parse(source)) for source in SOURCES]
