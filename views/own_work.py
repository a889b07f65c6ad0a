"""A visitor's own work on the course page: the code to go on elsewhere, downloads, and its deletion."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass

import streamlit as st

from engine.account.record import Run
from lessons.catalogue import lessons
from views import attempts, export
from views.database import KEEP_DAYS
from views.engine_calls import find_run
from views.engine_link import engine_link
from views.instructor import instructor_store
from views.privacy import show_privacy
from views.resume_code import looks_like_a_code
from views.visitor import attempt_store, browser, resume
from views.words import _, language


@dataclass(frozen=True)
class _File:
    """A download: what is on its button, its name, and its type."""

    label: str
    name: str
    mime: str


def show_own_work() -> None:
    """Draw the section."""
    st.header(_("Your work"), anchor="your-work")
    name = browser()
    _say_what_is_kept(name)
    code = attempt_store().code(name) if name else None
    if code is not None:
        st.markdown(_("With this code you go on in another browser. Whoever has it can, too, so do not pass it on:"))
        st.code(code, language=None, width="content")
    with st.container(horizontal=True, key="own-work"):
        _downloads(name)
        if name:
            _resume_box()
        if code is not None and name is not None:
            _ways_out(name)
    show_privacy()


def _say_what_is_kept(name: str | None) -> None:
    if message := st.session_state.pop("own-work-done", None):
        st.success(message)
    if name is None:
        st.info(_("Your browser keeps no cookie from here, so your answers last only as long as this page is open."))
        return
    st.markdown(
        _(
            "Your answers and runs are kept on this server for {days} days after your last answer, under a random name "
            "in a cookie of your browser. Nothing personal is asked for. Until you answer or run something, nothing "
            "is kept."
        ).format(days=KEEP_DAYS)
    )


def _downloads(name: str | None) -> None:
    """The files are made when the button is pressed, not on every visit."""
    own, course = attempts.attempts(), lessons(language())
    runs = attempt_store().runs(name) if name else []
    if own or runs:
        _download(_File(_("All as JSON"), "two-speeds.json", "application/json"),
                  lambda: export.work_json(own, _found(runs), course))  # fmt: skip
    if own:
        _download(_File(_("Answers as CSV"), "two-speeds-answers.csv", "text/csv"),
                  lambda: export.answers_csv(own, course).encode())  # fmt: skip
    if runs:
        _download(_File(_("Runs as CSV"), "two-speeds-runs.csv", "text/csv"),
                  lambda: export.runs_csv(_found(runs)).encode())  # fmt: skip


def _download(file: _File, made: Callable[[], bytes]) -> None:
    st.download_button(
        file.label, made, file.name, file.mime, icon=":material/download:", on_click="ignore", key=f"get-{file.name}"
    )


def _found(run_ids: list[str]) -> list[Run]:
    """The runs that are still kept; the store drops the oldest when it is full."""
    return [run for run_id in run_ids if (run := find_run(run_id).run) is not None]


def _resume_box() -> None:
    with st.popover(_("I have a code"), icon=":material/key:"), st.form("resume", border=False):
        typed = st.text_input(_("Your code, five words"), key="resume-code", max_chars=80, autocomplete="off")
        if st.form_submit_button(_("Go on with it"), type="primary"):
            _try(typed)


def _try(typed: str) -> None:
    if not looks_like_a_code(typed):
        st.error(_("A code is five of our words with hyphens between. Look for a slip of the fingers."))
        return
    found = resume(typed)
    if found is None:
        st.error(_("That was tried too often just now. Wait a minute."))
    elif not found:
        st.error(_("No work has this code. It may have been deleted, or not used for {n} days.").format(n=KEEP_DAYS))
    else:
        _begin_anew(_("Your work is here again."))


def _ways_out(name: str) -> None:
    with st.popover(_("Not me"), icon=":material/logout:"):
        st.markdown(_("Begin anew in this browser, as on a shared machine. The work stays, for whoever has its code."))
        if st.button(_("Begin anew"), key="own-work-leave"):
            attempt_store().leave(name)
            _begin_anew(_("This browser begins anew."))
    with st.popover(_("Delete my data"), icon=":material/delete:"):
        st.markdown(_("Your answers and your runs go, for good, from this server. Links to these runs stop working."))
        st.markdown(_("So do your pseudonyms and your votes in classes."))
        if st.button(_("Delete all of it"), key="own-work-delete", type="primary"):
            _delete(name)


def _delete(name: str) -> None:
    try:
        engine_link().delete(attempt_store().runs(name))
        attempt_store().delete(name)  # with the visitor go seats and votes in classes
        instructor_store().forget(name)
    except (sqlite3.Error, OSError) as error:
        st.error(_("It could not be deleted: {why}").format(why=error))
        return
    _begin_anew(_("Your answers and runs have been deleted."))


def _begin_anew(message: str) -> None:
    attempts.forget()
    st.session_state["own-work-done"] = message
    st.rerun()
