"""From a typed prompt to a run: it may wait for a guess, then the engine is asked; a refusal stands under the box."""

from __future__ import annotations

import streamlit as st

from lessons.structure import Block, Lesson
from views.engine_calls import engine_notice, start_run, stop_run
from views.page_state import PageState
from views.questions import committed
from views.run_form import Asked, note_unfamiliar, prompt_box
from views.safe_text import plain
from views.scene import Scene
from views.words import _

NOTICE_EVERY_S = 2.0


def ask_for_run(lesson: Lesson, block: Block, scene: Scene) -> None:
    """The box of a lesson. A prompt sent before the guess was made waits for it; otherwise it runs."""
    page = scene.page
    asked = prompt_box(scene, lesson.front.prompt)
    note_unfamiliar(st.session_state[page.key("prompt")], lesson.front.model)
    guess = block.value("asks")
    if asked is not None and guess is not None and not committed(lesson, guess):
        st.session_state[page.key("pending")] = asked
    elif asked is not None:
        begin(page, asked, replaces=scene)
        st.rerun()
    show_engine_notice()


def is_pending(page: PageState) -> bool:
    """Whether a prompt waits for a guess."""
    return page.key("pending") in st.session_state


def begin_pending(page: PageState) -> None:
    """The guess is made: run what waited for it."""
    asked = st.session_state.pop(page.key("pending"), None)
    if asked is not None:
        begin(page, asked, replaces=None)


def begin(page: PageState, asked: Asked, replaces: Scene | None) -> None:
    """Start a run in the place of the one in view, which is stopped if it still goes on; a refusal is kept to show."""
    if replaces is not None and replaces.run_id is not None and replaces.running:
        stop_run(replaces.run_id)
    started = start_run(asked.prompt, asked.sampling)
    st.session_state[page.key("refused")] = started.problem
    if started.run_id is not None:
        page.start_run(started.run_id, asked.sampling)


def show_refusal(page: PageState) -> None:
    """Why the last prompt did not run, until the next one is sent."""
    if problem := st.session_state.get(page.key("refused")):
        st.error(plain(problem))


def show_engine_notice() -> None:
    """A line about the engine while it is not ready; it goes by itself when it is."""
    if engine_notice():
        st.fragment(_notice, run_every=NOTICE_EVERY_S)()


def _notice() -> None:
    if notice := engine_notice():
        st.info(plain(notice) + " " + _("What is on the page works meanwhile."))
