"""A measurement on the real engine, taken at the press of a button: how far it is, how to stop it, what went wrong."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from lessons.playback import Measurement
from views.engine_runs import Trouble
from views.safe_text import code_span
from views.scene import Scene
from views.words import _

_SHOWN = 60
"""Characters of a prompt that are shown."""


STORY = "Once upon a time, there was a"
"""The prompt where no run is in view."""


def prompt_in_view(scene: Scene) -> str:
    """What is measured with."""
    return scene.run.header.prompt if scene.run is not None else STORY


def recorded_on(taken: Measurement) -> str:
    """How a kept measurement was made."""
    return _("Recorded on {machine}, {threads} threads, on {day}. {how}.").format(
        machine=taken.machine, threads=taken.threads, day=taken.created[:10], how=taken.how
    )


def offer(label: str, mine: str, key: str, take: Callable[[Callable[[float], None]], object]) -> None:
    """The button; pressed, it has `take` measure, which tells the share done, and keeps the result under `mine` in the
    session.
    """
    if not st.button(label, type="primary", key=f"{key}-go"):
        return
    bar = st.progress(0.0, _("Running"))
    st.button(_("Stop"), key=f"{key}-stop", icon=":material/stop:")  # pressed, it ends this script run and the runs

    def tell(share: float) -> None:
        bar.progress(share, _("Running: {percent} of the new tokens").format(percent=f"{share:.0%}"))

    st.session_state.pop(_problem(mine), None)
    try:
        st.session_state[mine] = take(tell)
    except Trouble as trouble:
        st.session_state[_problem(mine)] = str(trouble)
    st.rerun()


def show_prompt(prompt: str, mine: str) -> None:
    """Which prompt it is about, and why the last measurement could not be had."""
    line = " ".join(prompt.split())
    shown = line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…"
    st.markdown(_("Your prompt: {prompt}").format(prompt=code_span(shown)))
    if problem := st.session_state.get(_problem(mine)):
        st.error(problem)


def _problem(mine: str) -> str:
    return f"{mine}-problem"
