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
from views.engine_link import engine_link
from views.visitor import keep_run
from views.words import _


@dataclass(frozen=True)
class Started:
    """The answer to a request: the run's id, or why there is none."""

    run_id: str | None
    problem: str | None = None


@dataclass(frozen=True)
class Found:
    """A run looked up by its id: the record as far as it goes, or why it cannot be shown."""

    run: Run | None
    problem: str | None = None


def start_run(prompt: str, sampling: Sampling, serving: Serving = wire.DEFAULT_SERVING) -> Started:
    """Ask the engine for a run, waiting a while for one that is still loading."""
    try:
        with st.spinner(_("Sending the prompt to the engine"), show_time=False):
            run_id = engine_link().submit(prompt, sampling, serving=serving)
    except EngineRefused as no:
        return Started(None, no.message)
    except EngineUnavailable:
        return Started(None, engine_notice() or _DOWN)
    keep_run(run_id)
    return Started(run_id)


def find_run(run_id: str) -> Found:
    """The record of a run, from wherever it is kept."""
    try:
        run = engine_link().run(run_id)
    except EngineUnavailable:
        return Found(None, _("This run cannot be read now: {why}").format(why=engine_notice() or _DOWN))
    except (EngineRefused, RecordError) as no:
        return Found(None, str(no))
    if run is None:
        return Found(None, _("This run is not kept any more. Its link still works for the prompt, if it carries one."))
    return Found(run)


def stop_run(run_id: str) -> str | None:
    """Ask a run to stop; why that could not be asked, or None."""
    try:
        engine_link().cancel(run_id)
    except EngineRefused as no:
        return no.message
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
        return Traced(None, no.message)
    except EngineUnavailable:
        return Traced(None, engine_notice() or _DOWN)


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


_DOWN = _("The engine does not answer. What you typed is kept: try again in a moment.")
