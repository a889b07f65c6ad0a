"""The glossary: one sentence for each of the field's terms, and the marks in prose that call for one.

`[[prefill]]` marks a term where it first stands in a lesson; `[[KV cache|cache]]` shows another word for it.
The sentences lie in `<language>/glossary.md`, one `- **term**: sentence` each.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from lessons import catalogue

_ENTRY = re.compile(r"- \*\*(?P<term>[^*]+)\*\*: (?P<sentence>\S.*(?:\n  \S.*)*)")
_MARK = re.compile(r"\[\[([^\]|\n]+)(?:\|([^\]\n]+))?\]\]")


def glossary(language: str = catalogue.DEFAULT_LANGUAGE) -> dict[str, str]:
    """Term -> its sentence; empty where a language has none."""
    path = catalogue.HOME / language / "glossary.md"
    return _read(path, path.stat().st_mtime_ns) if path.is_file() else {}


def marked(text: str) -> Iterator[tuple[int, str]]:
    """(offset, term) of every mark in a text."""
    return ((match.start(), match[1].strip()) for match in _MARK.finditer(text))


def without_marks(text: str) -> str:
    """The text as it is read: each mark as the word that it shows, in italics."""
    return _MARK.sub(lambda match: f"*{(match[2] or match[1]).strip()}*", text)


@cache
def _read(path: Path, _changed: int) -> dict[str, str]:
    text = path.read_text(encoding="utf-8")
    return {match["term"]: " ".join(match["sentence"].split()) for match in _ENTRY.finditer(text)}
