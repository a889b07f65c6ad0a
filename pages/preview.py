"""A lesson that is being written."""

from __future__ import annotations

from views.preview import show_preview

show_preview()
