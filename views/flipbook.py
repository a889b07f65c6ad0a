"""The flipbook in a page: a Streamlit component whose picture and controls live in the browser (views/assets/flipbook).

Streamlit carries only the component's settings and, for a saved run, the run itself; a live run's events come over a
WebSocket of the app's own, so nothing reruns while tokens arrive.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import msgspec
import streamlit as st

from engine.account.record import SCHEMA, Run
from views.flipbook_words import labels
from views.palette import COLOURS
from views.served_files import base_path
from views.shim import shim

_HTML = '<div class="fb" tabindex="0" role="group"></div>'


@dataclass(frozen=True)
class Watched:
    """What the viewer did: the pass of this run they settled on (from 0), and the id of the live run that last ended in
    their view.
    """

    step: int | None
    ended: str | None


@cache
def _component() -> Callable[..., Any]:
    """The registered component; once a process, when the first page needs it."""
    return st.components.v2.component("twospeeds_flipbook", html=_HTML, js=shim("flipbook/flipbook.js", ".fb"))


Reveal = bool | Literal["motion"]


def settings(
    *,
    run_id: str | None,
    recording: Run | None,
    at: int | None,
    reveal: Reveal,
    play: bool,
    together: str | None = None,
) -> dict[str, Any]:
    """The component's `data`. What `reveal=False` hides does not even travel: of the run only its header goes."""
    events = [] if recording is None else recording.events if reveal else recording.events[:1]
    saved = {"schema": SCHEMA, "events": msgspec.to_builtins(events)} if recording is not None else None
    return {
        "run_id": run_id,
        "recording": saved,
        "at": at,
        "reveal": reveal,
        "play": play,
        "together": together,
        "base_path": base_path(),
        "labels": labels(),
        "colours": COLOURS,
    }


def flipbook(
    *,
    key: str,
    run_id: str | None = None,
    recording: Run | None = None,
    at: int | None = None,
    reveal: Reveal = True,
    play: bool = False,
    together: str | None = None,
    on_ended: Callable[[], None] | None = None,
) -> Watched:
    """Draw one request pass by pass.

    Args:
        key: Streamlit's key; the picture keeps its place under it over reruns, and takes one run after another. (Not a
            key for each run: a session never forgets one, so it grew by 3 KiB a run.)
        run_id: a live or finished run of the engine; its events come over the app's WebSocket.
        recording: a whole saved run, shown as one. With both, it is drawn and the log is asked for what it lacks.
        at: the pass (from 0) to stand on first, e.g. from a link. Later changes move the viewer; what the component
            itself reported and got back does not.
        reveal: False shows the prompt and the layers only, until a question about the run has been answered. "motion"
            lets a recording play over and over meanwhile, with nothing that names or counts a pass.
        play: start playing by itself (never under reduced motion).
        together: the name of a clock; what is done to one flipbook of that name on the page happens to all.
        on_ended: called before the rerun in which a live run that ended is told.

    Returns:
        The step that the viewer has settled on, and the live run that has ended; None before there is either.
    """
    result = _component()(
        key=key,
        data=settings(run_id=run_id, recording=recording, at=at, reveal=reveal, play=play, together=together),
        default={"settled": None, "ended": None},
        on_settled_change=_noted,
        on_ended_change=on_ended or _noted,
    )
    shown = recording.header.run_id if recording is not None else run_id
    return Watched(step=_step(result.settled, shown), ended=result.ended)


def _step(settled: object, shown: str | None) -> int | None:
    """The reported step, unless it was one of the run that stood here before."""
    match settled:
        case {"run_id": str(of), "step": int(step)} if of == shown:
            return step
    return None


def _noted() -> None:
    """Streamlit gives the result a name only where there is a callback for it; the rerun does the rest."""
