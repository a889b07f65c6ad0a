"""A learner's answers: guesses that count once they are committed, and every attempt at a question, kept in order."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

import streamlit as st

from lessons.questions import Answer


@dataclass(frozen=True)
class Attempt:
    """One answer. `right` is None for a guess: whether it was right, its run decides. `answer` None: passed over."""

    lesson: str
    question: str
    answer: Answer | None
    right: bool | None
    at: datetime


def keep(lesson: str, question: str, answer: Answer | None, right: bool | None = None) -> Attempt:
    """Add an attempt to the session's list; earlier ones stay."""
    attempt = Attempt(lesson, question, answer, right, datetime.now(UTC))
    attempts().append(attempt)
    return attempt


def attempts() -> list[Attempt]:
    """Every attempt of this session, oldest first."""
    kept: list[Attempt] = st.session_state.setdefault("attempts", [])
    return kept


def of_lesson(lesson: str) -> list[Attempt]:
    """Every attempt in one lesson, oldest first."""
    return [one for one in attempts() if one.lesson == lesson]


def last(lesson: str, question: str) -> Attempt | None:
    """The latest attempt at one question."""
    own = [one for one in attempts() if (one.lesson, one.question) == (lesson, question)]
    return own[-1] if own else None
