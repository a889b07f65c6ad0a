"""Whether the page is light or dark now, for what is drawn on the server."""

from __future__ import annotations

import streamlit as st

from views.palette import Theme


def current_theme() -> Theme:
    """The browser's theme; light until it has told."""
    return "dark" if st.context.theme.type == "dark" else "light"
