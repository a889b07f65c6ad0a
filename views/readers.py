"""What on a page reads the results of its instruments, and is drawn again with them.

The prose after an instrument may say its numbers. Each such text is a fragment, and when a person changes the
instrument, Streamlit is asked for the instrument and for these, which leaves the rest of the page alone. What reads a
result in another way, as a question does, has the whole page drawn (`frame.publish`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

import streamlit as st

from lessons.instruments import INSTRUMENTS, prefix_of
from lessons.structure import Block
from views.page_state import PageState

PROSE = ("prose", "screen", "depth")
"""Blocks whose text is drawn as a fragment if it reads results."""

_WHOLE = "whole"
"""Stands among the readers where only the whole page will do."""

_RESULT = re.compile(rf"\b({'|'.join(map(prefix_of, INSTRUMENTS))})\.[a-z_]")


def begin(page: PageState, blocks: Iterable[Block]) -> None:
    """The whole page is being drawn: of its readers only those are known that are no prose."""
    readers: dict[str, list[str]] = {}
    for block in blocks:
        if block.name not in PROSE:
            for prefix in _read_in("\n".join((block.body, *(setting.value for setting in block.settings)))):
                readers[prefix] = [_WHOLE]
    st.session_state[page.key("readers")] = readers


def draw_reader(page: PageState, text: str, draw: Callable[[], None], key: str) -> None:
    """Draw prose by `draw`, which looks up its numbers itself: alone as well, if they are an instrument's."""
    prefixes = _read_in(text)
    if not prefixes:
        draw()
        return
    readers: dict[str, list[str]] = st.session_state.setdefault(page.key("readers"), {})
    for prefix in prefixes:
        readers.setdefault(prefix, []).append(key)
    st.fragment(draw, key=key)()


def fragment_of(key: str) -> str:
    """The key of the fragment in which an instrument is drawn."""
    return f"instrument-{key}"


def with_readers(page: PageState, name: str, key: str) -> Callable[[], None]:
    """What the boxes of the instrument under this key call when they are changed: it is drawn again, then all that
    reads it.
    """

    def again() -> None:
        readers = st.session_state.get(page.key("readers"), {}).get(prefix_of(name), [])
        if readers and _WHOLE not in readers:
            st.session_state[page.key("followed")] = name
            st.rerun([fragment_of(key), *dict.fromkeys(readers)])

    return again


def are_following(page: PageState, name: str) -> bool:
    """Whether all that reads this instrument is about to be drawn again anyway; says so once."""
    return bool(st.session_state.pop(page.key("followed"), None) == name)


def _read_in(text: str) -> set[str]:
    return set(_RESULT.findall(text))
