"""Recordings: runs that are kept, opened, saved, shared."""

from __future__ import annotations

from views.recordings import show_recordings

show_recordings()
