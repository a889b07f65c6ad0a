"""The engine from a page's side: start a run, read a run, and say in plain words what is wrong when something is.

Nothing raises from here: whatever fails becomes a message for the place where the person looks.
"""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from engine.account.record import Run, Sampling, Serving
from engine.account.record_file import RecordError
from engine.account.trace_record import TraceRecord
from engine.serve import wire
from engine.serve.client import EngineRefused, EngineUnavailable
from views import lane_key, run_limits
from views.class_here import note_class_run
from views.engine_faults import in_words
from views.engine_link import engine_link
from views.visitor import keep_run
from views.words import N_, _


@dataclass(frozen=True)
class Started:
    """The answer to a request: the run's id, or why there is none, with the engine's code if it was the engine's no."""

    run_id: str | None
    problem: str | None = None
    code: str | None = None


@dataclass(frozen=True)
class Found:
    """A run looked up by its id: the record as far as it goes, or why it cannot be shown."""

    run: Run | None
    problem: str | None = None


def start_run(
    prompt: str, sampling: Sampling, serving: Serving = wire.DEFAULT_SERVING, *, at_once: int | None = None,
    model: str | None = None,
) -> Started:  # fmt: skip
    """Ask the engine for a run, waiting a while for one that is still loading. `model` None is the engine's own.

    `at_once`: it is one of copies that a page sends together, and so many of the visitor's runs may go on.
    """
    if problem := run_limits.too_much(prompt, sampling, _goes_on, at_once=at_once):
        return Started(None, problem, TOO_MUCH)
    lane = lane_key.own_key()
    try:
        with st.spinner(_("Sending the prompt to the engine"), show_time=False):
            run_id = engine_link().submit(prompt, sampling, model=model, serving=serving, lane=lane)
    except EngineRefused as no:
        if no.code == "reservation_over":
            lane_key.forget()
        return Started(None, in_words(no), no.code)
    except EngineUnavailable:
        return Started(None, engine_notice() or _(_DOWN))
    run_limits.own_book().note(sampling.max_new_tokens, run_id)
    keep_run(run_id)
    note_class_run(run_id)
    return Started(run_id)


def model_names() -> list[str]:
    """Names that a run may ask for, the engine's own model first; none while it does not answer."""
    try:
        return engine_link().client.names()
    except (EngineRefused, EngineUnavailable):
        return []


def engine_is_here() -> bool:
    """Whether the engine is a child of this process, and so on this machine."""
    return engine_link().supervised


TOO_MUCH = "too_much"
"""Code of a run that the app itself did not pass on; see views.run_limits."""


def too_much(prompt: str, sampling: Sampling, n_runs: int) -> str | None:
    """Why this visitor cannot have so many copies run now; None, and they are counted, if nothing is in the way."""
    problem = run_limits.too_much(prompt, sampling, _goes_on, n_runs=n_runs, at_once=n_runs)
    for _copy in range(0 if problem else n_runs):
        run_limits.own_book().note(sampling.max_new_tokens)
    return problem


def _goes_on(run_id: str) -> bool:
    run = find_run(run_id).run
    return run is not None and run.end is None


def find_run(run_id: str) -> Found:
    """The record of a run, from wherever it is kept."""
    try:
        run = engine_link().run(run_id)
    except EngineUnavailable:
        return Found(None, _("This run cannot be read now: {why}").format(why=engine_notice() or _(_DOWN)))
    except EngineRefused as no:
        return Found(None, in_words(no))
    except RecordError as broken:
        return Found(None, str(broken))
    if run is None:
        return Found(None, _("This run is not kept any more. Its link still works for the prompt, if it carries one."))
    return Found(run)


def stop_run(run_id: str) -> str | None:
    """Ask a run to stop; why that could not be asked, or None."""
    run_limits.own_book().forget(run_id)
    try:
        engine_link().cancel(run_id)
    except EngineRefused as no:
        return in_words(no)
    return None


@dataclass(frozen=True)
class Traced:
    """An instrumented second pass, or why there is none."""

    trace: TraceRecord | None
    problem: str | None = None


def take_trace(run_id: str, layer: int, head: int) -> Traced:
    """The instrumented second pass over a finished run; taken once, then kept for whoever looks again."""
    try:
        with st.spinner(_("The same tokens go through once more, with instruments"), show_time=False):
            return Traced(_trace(run_id, layer, head))
    except EngineRefused as no:
        return Traced(None, in_words(no))
    except EngineUnavailable:
        return Traced(None, engine_notice() or _(_DOWN))


@st.cache_resource(max_entries=16, show_spinner=False)
def _trace(run_id: str, layer: int, head: int) -> TraceRecord:
    return engine_link().client.trace(run_id, layer, head)


def engine_notice() -> str | None:
    """What is to be said of the engine: None when it is ready."""
    health = engine_link().health()
    if health.status == "ready":
        return None
    if health.status in ("starting", "loading"):
        return _("The engine is starting. A prompt sent now waits for it.")
    why = f" {health.message}" if health.message else ""
    return _("The engine cannot run prompts now.") + why


_DOWN = N_("The engine does not answer. What you typed is kept: try again in a moment.")
