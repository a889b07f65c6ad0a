"""Markdown as HTML, for what is not drawn by Streamlit's own Markdown."""

from __future__ import annotations

from functools import cache

from markdown_it import MarkdownIt


def reader() -> MarkdownIt:
    """CommonMark with tables; HTML in it is shown as text, and there are no pictures."""
    return MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")


def html_of(text: str) -> str:
    """A few sentences of ours; what a person or a model wrote in them stands in code spans (views/safe_text.py)."""
    return str(_reader().render(text))


_reader = cache(reader)
