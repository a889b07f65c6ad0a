"""Numbers or short texts side by side as cards: what each is, a line of small print, and perhaps how it was made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import streamlit as st

from views.markdown_html import html_of
from views.popover import popover
from views.words import _


@dataclass(frozen=True)
class Card:
    """One number, or words. Where both are missing there is nothing to say, and the place stays blank."""

    label: str
    value: str | None
    note: str = ""
    how: str = ""
    """Markdown."""
    words: str = ""
    """Markdown in the place of the value, in the size of what is read: an answer that is a sentence."""


def show_cards(cards: Sequence[Card], *, key: str = "", most: int = 3, least_px: int = 150) -> None:
    """Draw them as one piece of HTML, at most `most` in a row and none narrower than `least_px`. Where they say how
    they were made, `key` must be unlike any other on the page.
    """
    style = f"--ts-most: {most}; --ts-least: {least_px}px"
    drawn = "".join(_card(card, f"{key}-{place}") for place, card in enumerate(cards))
    st.html(f'<dl class="ts-cards" style="{style}">{drawn}</dl>')


def _card(card: Card, key: str) -> str:
    parts = [
        f"<dt>{escape(card.label)}</dt>",
        f'<dd class="ts-words">{html_of(card.words)}</dd>' if card.words else _value(card.value),
        f"<dd>{escape(card.note)}</dd>" if card.note else "",
        f"<dd>{popover(_('How?'), card.how, key, about=card.label)}</dd>" if card.how else "",
    ]
    return f"<div>{''.join(parts)}</div>"


def _value(value: str | None) -> str:
    return f'<dd class="ts-value">{escape(value or "") or "&nbsp;"}</dd>'
