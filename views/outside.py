"""The Lab's other place to run: an engine that is not ours, set by the operator and timed from outside."""

from __future__ import annotations

import sys

import streamlit as st

from engine.account.outside_record import OutsideRun
from engine.account.record import Sampling
from engine.loop.request import MAX_SEED, MAX_TEMPERATURE
from engine.outside.server import OutsideError, configured
from views import run_limits
from views.links import MAX_NEW_TOKENS
from views.outside_result import show_outside_run
from views.outside_runs import OutsideRuns, outside_runs
from views.prompt_checks import prompt_problem
from views.recordings_found import Chosen, find
from views.safe_text import code_span, plain
from views.site import compare_page, recordings_page
from views.visitor import keep_run
from views.words import _

RUN = "outside"
"""The parameter of the Lab's address that names the run in view."""

_WATCH_EVERY_S = 0.5
_CURRENT = "outside-run"


def outside_problem() -> str | None:
    """What is wrong with the operator's setting; None where there is none, or nothing is set."""
    try:
        configured()
    except OutsideError as no:
        return no.message
    return None


def outside_chosen() -> bool:
    """Whether the Lab is to ask the outside engine; the question is put only where the operator has set one."""
    if problem := outside_problem():
        st.warning(plain(problem))
    runs = outside_runs()
    if runs is None:
        return False
    key = "lab-place"
    if RUN in st.query_params and key not in st.session_state:
        st.session_state[key] = "outside"
    names = {"here": _("this engine"), "outside": _("outside engine: {server}").format(server=runs.server.name)}
    place = st.segmented_control(
        _("Where it runs"), list(names), default="here" if key not in st.session_state else None, key=key,
        format_func=names.__getitem__, persist_state="session", required=True,
    )  # fmt: skip
    if place != "outside":
        st.query_params.pop(RUN, None)
    return place == "outside"


def show_outside() -> None:
    """The form, then the run in view."""
    runs = outside_runs()
    assert runs is not None
    st.markdown(
        _(
            "{server} is asked over OpenAI's API and timed from here, so the network is in every time. What its engine "
            "does inside cannot be seen. Your prompt is sent there."
        ).format(server=code_span(runs.server.name))
    )
    if asked := _form():
        _start(runs, *asked)
    st.header(_("The run"), anchor="run")
    run_id = st.session_state.get(_CURRENT) or st.query_params.get(RUN)
    if run_id is None:
        st.info(_("Type a prompt and ask: the text appears here as it comes, then its figures."))
    elif runs.is_asking(run_id):
        st.fragment(_watch, run_every=_WATCH_EVERY_S, key="outside-watch")(runs, run_id)
    else:
        _show_ended(run_id)


def _form() -> tuple[str, Sampling] | None:
    with st.form("outside-ask", border=True):
        prompt = st.text_area(
            _("Prompt"), "Once upon a time, there was a", key="outside-prompt", persist_state="session"
        )
        with st.grid(4, min_column_width=150):
            new = st.number_input(_("New tokens"), 1, MAX_NEW_TOKENS, 60, key="outside-new", persist_state="session")
            temperature = st.number_input(
                _("Temperature"), 0.0, MAX_TEMPERATURE, 0.7, step=0.1, key="outside-temperature",
                persist_state="session",
            )  # fmt: skip
            top_p = st.number_input(_("Top-p"), 0.01, 1.0, 1.0, step=0.05, key="outside-top-p", persist_state="session")
            seed = st.number_input(_("Seed"), 0, MAX_SEED, 0, key="outside-seed", persist_state="session")
        sent = st.form_submit_button(_("Ask it"), type="primary")
    if not sent:
        return None
    if problem := prompt_problem(prompt):
        st.error(problem)
        return None
    return prompt, Sampling(temperature=temperature, top_p=top_p, seed=int(seed), max_new_tokens=int(new))


def _start(runs: OutsideRuns, prompt: str, sampling: Sampling) -> None:
    """Ask in the place of the run in view, which is stopped if it still goes on: one at a time a visitor."""
    # How many go on here is no matter of the visitor's runs at our own engine: this one takes the place of the last.
    if problem := run_limits.too_much(prompt, sampling, runs.is_asking, at_once=sys.maxsize):
        st.error(plain(problem))
        return
    if before := st.session_state.get(_CURRENT):
        runs.stop([before])
    try:
        run_id = runs.start(prompt, sampling)
    except OutsideError as no:
        st.error(plain(no.message))
        return
    run_limits.own_book().note(sampling.max_new_tokens)
    keep_run(run_id)
    st.session_state[_CURRENT] = st.query_params[RUN] = run_id


def _watch(runs: OutsideRuns, run_id: str) -> None:
    if not runs.is_asking(run_id):
        st.rerun()
    is_own = run_id == st.session_state.get(_CURRENT)
    if is_own and st.button(_("Stop"), icon=":material/stop:", key="outside-stop"):
        runs.stop([run_id])
    run = runs.run(run_id)
    if run is None:
        st.caption(_("The request has been sent. Nothing has come yet."))
    else:
        show_outside_run(run, key="outside")


def _show_ended(run_id: str) -> None:
    found = find(run_id)
    if not isinstance(found, Chosen):
        st.warning(plain(found))
        return
    if not isinstance(found.run, OutsideRun):
        st.warning(_("This run is not one from outside."))
        return
    show_outside_run(found.run, key="outside")
    with st.container(horizontal=True, key="outside-controls"):
        st.page_link(
            recordings_page(), label=_("Save or share it"), icon=":material/save:", query_params={"run": run_id}
        )
        st.page_link(
            compare_page(), label=_("Compare it"), icon=":material/compare_arrows:", query_params={"a": run_id}
        )
