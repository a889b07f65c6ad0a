"""Signs in HTML of our own, in the icon font that Streamlit serves."""

from __future__ import annotations


def icon_html(name: str) -> str:
    """A sign by its name in the font, left out by whoever reads aloud or translates."""
    return f'<span class="ts-icon" aria-hidden="true" translate="no">{name}</span>'
