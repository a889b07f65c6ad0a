"""Why the last prompt did not run, under the box, and a button that sends it once more. Nothing typed is lost."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from views.engine_calls import TOO_MUCH, Started
from views.page_state import PageState
from views.run_form import Asked
from views.safe_text import plain
from views.words import _

BUSY = ("queue_full", TOO_MUCH)
"""Codes of a no that may be a yes in a moment."""


def keep_refusal(page: PageState, started: Started, asked: Asked | None = None) -> None:
    """Remember the answer to what was asked, to be shown; where the engine is full, the page's recording comes back.

    Without `asked`, it was a second run, and the first stays in view.
    """
    full = started.code == "queue_full" and asked is not None
    st.session_state[page.key("refused")] = started.problem
    st.session_state[page.key("again")] = asked if started.code in BUSY else None
    st.session_state[page.key("full")] = full
    if full:
        page.leave_run()


def show_refusal(page: PageState, again: Callable[[Asked], None]) -> None:
    """Why the last prompt did not run, until the next one is sent; `again` sends it once more."""
    problem = st.session_state.get(page.key("refused"))
    if not problem:
        return
    asked: Asked | None = st.session_state.get(page.key("again"))
    if asked is None:
        st.error(plain(problem))
        return
    with st.container(key=page.key("refusal")):
        recording = _("Until there is room, the recording is here. It was made earlier, with a prompt of its own.")
        kept = _("What you typed is kept.")
        full = st.session_state.get(page.key("full"))
        st.warning(" ".join([plain(problem), *([recording] if full else []), kept]))
        if st.button(_("Try again"), key=page.key("try-again"), icon=":material/refresh:"):
            again(asked)
            st.rerun()
