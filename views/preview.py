"""The lesson that `python -m lessons preview FILE` shows: its faults, then the lesson, drawn again on every save."""

from __future__ import annotations

import os
from pathlib import Path

import streamlit as st

from lessons.check import check_lesson
from lessons.parse import read_lesson
from views.lesson import show_lesson
from views.safe_text import code_span
from views.site import PREVIEW_FILE
from views.words import _

LOOK_EVERY_S = 1.0


def previewed() -> Path | None:
    """The file that is being written, if this app was started for one."""
    name = os.environ.get(PREVIEW_FILE)
    return Path(name) if name else None


def show_preview() -> None:
    """Draw the page."""
    path = previewed()
    if path is None:
        st.info(_("No lesson is being written here. `python -m lessons preview FILE` starts it."))
        return
    st.fragment(_look, run_every=LOOK_EVERY_S, key="preview-look")(path, _saved_at(path))
    try:
        lesson = read_lesson(path)
    except (OSError, UnicodeDecodeError) as error:
        st.error(_("{file} cannot be read: {why}").format(file=code_span(str(path)), why=code_span(str(error))))
        return
    faults = check_lesson(lesson)
    for fault in faults:
        st.error(_("Line {line}: {what}").format(line=fault.line, what=code_span(fault.message)))
    if not faults:
        st.success(_("No faults."), icon=":material/check:")
    if lesson.front.title:
        show_lesson(lesson)


def _look(path: Path, seen: int) -> None:
    if _saved_at(path) != seen:
        st.rerun()


def _saved_at(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0  # an editor that saves by renaming leaves a moment without the file
