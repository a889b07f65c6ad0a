"""The lesson format."""

from __future__ import annotations

from views.format_page import show_format

show_format()
