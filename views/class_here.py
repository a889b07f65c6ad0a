"""The class that a page takes part in: a learner's by the seat, a teacher's stage or notes by `&class=CODE`.

It is read once a script run, at the top of a lesson; what is drawn after that asks here whether a question waits for
the class.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st

from views.class_names import looks_like_a_class_code
from views.class_store import Class, ClassStore, Seat
from views.class_votes import ClassVotes, Glance, Key, Phase, phase_at_first
from views.instructor import is_instructor
from views.visitor import browser

_HERE = "class.here"


@dataclass(frozen=True)
class Here:
    """The class as it stood when the page was drawn. `seat` None: this is the teacher's page."""

    one: Class
    seat: Seat | None
    phases: Mapping[Key, Phase]

    def phase(self, key: Key) -> Phase | None:
        """Where a question is; None if it is not part of the class so far."""
        return self.phases.get(key) or phase_at_first(self.one.lesson, key)


@st.cache_resource(show_spinner=False)
def class_store() -> ClassStore:
    """The process's one store of classes."""
    return ClassStore()


def class_votes() -> ClassVotes:
    """The votes in it."""
    return ClassVotes(class_store())


@st.cache_data(ttl=1.0, max_entries=200, show_spinner=False)
def glance(class_id: int, key: Key) -> Glance:
    """A question in a class, read at most once a second for however many look: up to a second old."""
    return class_votes().glance(class_id, key)


def look(*, presented: bool) -> Here | None:
    """Read which class this page takes part in, for the rest of this script run."""
    found = _teaching() if presented else _sitting()
    st.session_state[_HERE] = found
    return found


def here() -> Here | None:
    """What `look` found."""
    found: Here | None = st.session_state.get(_HERE)
    return found


def waits(lesson: str, question: str) -> bool:
    """Whether a question is in the hands of the class: its answer stays shut until the teacher reveals it."""
    found = here()
    return found is not None and found.phase((lesson, question)) not in (None, "revealed")


def note_class_run(run_id: str) -> None:
    """A run of this visitor has begun; the class that they sit in, if any, remembers when."""
    if name := browser():
        class_store().note_run(name, run_id)


def _sitting() -> Here | None:
    name = browser()
    seat = class_store().seat_of(name) if name else None
    if seat is None:
        return None
    one = Class(seat.class_id, seat.code, seat.lesson, seat.began, is_live=True)
    return Here(one, seat, class_votes().phases(seat.class_id))


def _teaching() -> Here | None:
    code = st.query_params.get("class", "")
    if not (looks_like_a_class_code(code) and is_instructor()):
        return None
    one = class_store().find(code)
    return Here(one, None, class_votes().phases(one.id)) if one is not None and one.is_live else None
