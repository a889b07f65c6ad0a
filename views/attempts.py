"""A learner's answers: guesses that count once they are committed, and every attempt at a question, kept in order.

They are in the session while a page is open, and for good under the browser's random name (views/visitor.py).
"""

from __future__ import annotations

from datetime import UTC, datetime

import streamlit as st

from lessons.questions import Answer
from views.attempt_store import Attempt
from views.visitor import attempt_store, browser

__all__ = ["Attempt", "attempts", "forget", "keep", "last", "of_lesson"]


def keep(lesson: str, question: str, answer: Answer | None, right: bool | None = None) -> Attempt:
    """Add an attempt to the list; earlier ones stay."""
    attempt = Attempt(lesson, question, answer, right, datetime.now(UTC))
    attempts().append(attempt)
    if name := browser():
        attempt_store().save(name, attempt)
    return attempt


def attempts() -> list[Attempt]:
    """Every attempt of this visitor, oldest first; read from the store once a session."""
    if "attempts" not in st.session_state:
        name = browser()
        st.session_state["attempts"] = attempt_store().load(name) if name else []
    kept: list[Attempt] = st.session_state["attempts"]
    return kept


def forget() -> None:
    """Drop the session's list and whatever depends on it: what the store has for this browser is read anew."""
    st.session_state.clear()


def of_lesson(lesson: str) -> list[Attempt]:
    """Every attempt in one lesson, oldest first."""
    return [one for one in attempts() if one.lesson == lesson]


def last(lesson: str, question: str) -> Attempt | None:
    """The latest attempt at one question."""
    own = [one for one in attempts() if (one.lesson, one.question) == (lesson, question)]
    return own[-1] if own else None
