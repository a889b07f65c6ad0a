"""Find numbers typed into prose. A number on a page comes from the run, a formula or the question, not from a keyboard.

What is not a measurement is let through: code, maths, links, names with digits in them (Qwen3.5, fp32, p50), references
to a lesson, pass, layer or step by number, and the whole `:::sources` block with its years. A number that the author
means as a given is written as an expression: `{{ 200 }}`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin

from lessons.expressions import without_placeholders

_WORD = re.compile(r"\S+")
_NUMBER = re.compile(r"[+-]?\d[\d.,]*")
_MEASURE = re.compile(r"[~≈<>±+-]?\d[\d.,]*(?:ns|µs|us|ms|s|GB|MB|KB|kB|GiB|MiB|KiB|B|k|K|M|G|%|x|×)?")
_REFERENCE = frozenset(
    {
        "lesson", "lessons", "pass", "layer", "step", "figure", "part", "question",
        "lección", "lecciones", "pasada", "capa", "paso", "figura", "parte", "pregunta",
    }
)  # fmt: skip

_markdown = MarkdownIt("commonmark").use(dollarmath_plugin)


def typed_numbers(body: str) -> Iterator[tuple[int, str]]:
    """(line offset within the body, the number) for every number typed into the prose of a Markdown text."""
    for block in _markdown.parse(without_placeholders(body)):
        if block.type != "inline" or block.map is None:
            continue
        line = block.map[0]
        for child in block.children or []:
            if child.type in ("softbreak", "hardbreak"):
                line += 1
            elif child.type == "text":
                yield from ((line, found) for found in _in_text(child.content))


def _in_text(text: str) -> Iterator[str]:
    before = ""
    for match in _WORD.finditer(text):
        word = match[0].strip("()[]{}\"'“”‘’.,:;!?–—…")
        is_number = _NUMBER.fullmatch(word) or _MEASURE.fullmatch(word)
        if is_number and before.lower() not in _REFERENCE:
            yield word
        before = word
