"""A page table: several chats in one pool of pages, what they share, and what a whole context for each would cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import streamlit as st

from engine.account import cost
from engine.account.page_table import PAGE_SIZE, STEP, Chat, Table, crowd, pages_for, play
from engine.account.record import ModelShape
from lessons.filters import binary_bytes
from lessons.named_shapes import shape_of
from views.chart import chart
from views.figure_pages import chats_figure, pool_figure
from views.figure_style import travelling
from views.instruments.frame import Frame, framed, publish
from views.readers import with_readers
from views.scene import Scene
from views.theme import current_theme
from views.words import _, ngettext

NAME = "pages"
N_PAGES = 128
"""Pages of the pool: as many positions as one context of the bundled model."""
SHORTEST, LONGEST = 60, 260
"""Tokens that a chat of a mixed crowd holds."""
MIXED = 0
LENGTHS = (MIXED, 50, 150, 500)
"""Tokens of every chat alike, or mixed."""
MOST_CHATS, LONGEST_PREFIX, LAST_CROWD = 24, 200, 9999


def show(scene: Scene, settings: Mapping[str, str], key: str) -> None:
    """Boxes for the crowd, the pool, and what each chat takes."""
    shape = shape_of("story")
    if shape is None:
        st.caption(_("The shape of the model cannot be read."))
        return
    asked = _boxes(settings, key, with_readers(scene.page, NAME, key))
    shortest, longest = (asked.length, asked.length) if asked.length else (SHORTEST, LONGEST)
    table = play(N_PAGES, asked.prefix, crowd(asked.chats, asked.prefix, asked.crowd, shortest, longest))
    _publish(scene, table, shape)
    frame = Frame(_("One pool, many chats"), "simulated", _how(shape), _numbers(table))
    link = {name: str(value) for name, value in asked._asdict().items()}
    told, theme = _told(table, shape), current_theme()
    pool = travelling(pool_figure(table, theme))
    chats = travelling(chats_figure(table, shape.context_length, theme))
    with framed(frame, name=NAME, scene=scene, settings=link, key=key):
        st.markdown(told)
        chart(pool, key=f"plot-{key}-pool", description=_("Picture of the pool. ") + told)
        st.caption(
            _(
                "Each square is a page of {size} places, and the letters are the chats that read it. The stronger its "
                "colour, the fuller; a heavy frame is a page that several chats share; blank is free."
            ).format(size=PAGE_SIZE)
        )
        alt = _("Bars: what each chat holds of a context of {n} positions.").format(n=shape.context_length)
        chart(chats, key=f"plot-{key}-chats", description=alt)


class Asked(NamedTuple):
    """What the boxes say; the names are the instrument's settings."""

    chats: int
    length: int
    prefix: int
    crowd: int


def _boxes(settings: Mapping[str, str], key: str, changed: Callable[[], None]) -> Asked:
    def number(name: str, label: str, low: int, high: int, default: int, told: str) -> int:
        asked = min(high, max(low, int(settings.get(name, default))))
        box_key = f"{key}-{name}"
        return int(st.number_input(label, low, high, asked, step=1, key=box_key, help=told, on_change=changed))

    with st.grid(4, min_column_width=150):
        return Asked(
            number("chats", _("Chats"), 1, MOST_CHATS, 8, _("How many ask for memory, one after another.")),
            _length_box(int(settings.get("length", MIXED)), key, changed),
            number("prefix", _("Same first tokens"), 0, LONGEST_PREFIX, 0,
                   _("A beginning that all of them share, as with one system prompt. 0: none.")),
            number("crowd", _("Crowd"), 0, LAST_CROWD, 1,
                   _("The seed from which mixed lengths are drawn. The same number gives the same chats.")),
        )  # fmt: skip


def _length_box(asked: int, key: str, changed: Callable[[], None]) -> int:
    mixed = _("mixed, {low} to {high}").format(low=SHORTEST, high=LONGEST)
    lengths = sorted({*LENGTHS, asked})
    return st.selectbox(
        _("Tokens of a chat"), lengths, lengths.index(asked), key=f"{key}-length",
        format_func=lambda n: str(n) if n else mixed, on_change=changed,
    )  # fmt: skip


def _told(table: Table, shape: ModelShape) -> str:
    """What the picture shows, in three sentences."""
    n, wait = len(table.running), len(table.waiting)
    run = ngettext("{n} chat runs in {used} of {all} pages", "{n} chats run in {used} of {all} pages", n)
    lines = [
        run.format(n=n, used=table.used_pages, all=table.pool.n_pages)
        + (_(", and {n} wait for room.").format(n=wait) if wait else "."),
        _("They hold {positions} positions, and {empty} places in their last pages are empty.").format(
            positions=f"{table.positions:,}", empty=table.empty_places
        ),
    ]  # fmt: skip
    if table.saved_pages:
        lines.append(_("Sharing saves {n} pages.").format(n=table.saved_pages))
    fits = _whole_contexts(table, shape)
    lines.append(
        ngettext(
            "With room for a whole context of {context} positions each, {fits} would fit.",
            "With room for a whole context of {context} positions each, {fits} would fit.",
            fits,
        ).format(context=f"{shape.context_length:,}", fits=fits)
    )
    return " ".join(lines)


def _whole_contexts(table: Table, shape: ModelShape) -> int:
    return table.pool.n_pages * PAGE_SIZE // shape.context_length


def _how(shape: ModelShape) -> str:
    page = PAGE_SIZE * cost.kv_bytes_per_position(shape)
    return _(
        "The chats are made up: mixed lengths are drawn from a seed, between {low} and {high} tokens, and all grow "
        "{step} tokens at a time in turns. One enters when everything that it will hold finds room. The pages follow "
        "the engine's own rules: {size} positions each, {bytes} in {name}, taken when they are needed; a shared page "
        "that is partly filled is copied before somebody writes into it. A test does the same to the engine's real "
        "memory and compares every page."
    ).format(low=SHORTEST, high=LONGEST, step=STEP, size=PAGE_SIZE, bytes=binary_bytes(page), name=shape.name)


def _numbers(table: Table) -> dict[str, list[object]]:
    chats: list[Chat] = [*table.running, *table.waiting]
    return {
        _("chat"): [chat.name for chat in chats],
        _("positions"): [chat.length or None for chat in chats],
        _("pages"): [len(chat.pages) or None for chat in chats],
        _("page table"): [" ".join(map(str, chat.pages)) or _("waits") for chat in chats],
        _("empty places"): [chat.empty_places if chat.pages else None for chat in chats],
        _("pages it would need"): [pages_for(chat.wanted) for chat in chats],
    }


def _publish(scene: Scene, table: Table, shape: ModelShape) -> None:
    results = {
        "page_size": PAGE_SIZE, "pool_pages": table.pool.n_pages, "pool_positions": table.pool.n_pages * PAGE_SIZE,
        "context": shape.context_length, "running": len(table.running), "waiting": len(table.waiting),
        "positions": table.positions, "used_pages": table.used_pages, "free_pages": table.pool.n_free,
        "shared_pages": table.shared_pages, "saved_pages": table.saved_pages, "empty_places": table.empty_places,
        "whole_context_fits": _whole_contexts(table, shape),
        "kv_bytes_per_page": PAGE_SIZE * cost.kv_bytes_per_position(shape),
    }  # fmt: skip
    publish(scene, NAME, results)
