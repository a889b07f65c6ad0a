"""How further models come to the engine's machine: the command for everybody, a button for whoever may teach.

The button starts the same command in a process of its own, on this machine; so there is one only where the app has
started the engine itself. No page waits for it: whoever comes meanwhile sees how far it is.
"""

from __future__ import annotations

import threading

import streamlit as st

from engine.fetch.catalogue import CATALOGUE
from engine.fetch.process import FetchProcess, FetchState
from views.engine_calls import engine_is_here
from views.instructor import is_instructor
from views.model_picker import models_here
from views.safe_text import code_span, plain
from views.words import _

LOOK_EVERY_S = 1.0
ENGINE_EVERY_S = 2.0


class Fetches:
    """One fetch at a time for the whole app, and how the last one ended. Any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._newest: FetchProcess | None = None

    @property
    def state(self) -> FetchState | None:
        """Of the newest one; None if there was none."""
        return self._newest.state if self._newest else None

    def start(self, name: str) -> bool:
        """Begin to fetch a model of the catalogue; False while another one goes on."""
        with self._lock:
            if name not in CATALOGUE or (self._newest is not None and not self._newest.state.ended):
                return False
            self._newest = FetchProcess(name)
            return True


@st.cache_resource(show_spinner=False)
def fetches() -> Fetches:
    """The process's one."""
    return Fetches()


def show_fetching(names: list[str]) -> None:
    """Below the Lab's form, folded away: which models could come here, beside these, and how."""
    absent = [name for name in CATALOGUE if name not in names]
    if not names:
        st.fragment(_wait_for_engine, run_every=ENGINE_EVERY_S)()
    if not names or not absent:
        return
    with st.expander(_("More models"), icon=":material/download:"):
        st.markdown(
            _(
                "Every model on the engine's machine can be chosen here. Whoever runs this server brings one with "
                "{command}, and it can be chosen at once. SmolLM2-135M, for example, has full attention in every "
                "layer: its KV cache grows in all of them, and it has no state."
            ).format(command="`python -m engine fetch smollm2-135m`")
        )
        state = fetches().state
        if state is not None and not state.ended:
            st.fragment(_watch, run_every=LOOK_EVERY_S)()
        elif is_instructor():
            _offer(absent, state)


def _offer(absent: list[str], last: FetchState | None) -> None:
    if last is not None and last.problem is not None:
        st.error(_("{name} was not fetched: {why}").format(name=code_span(last.name), why=plain(last.problem)))
    if not engine_is_here():
        st.caption(_("The engine runs on another machine: give the command there."))
        return
    name = st.selectbox(_("Model to fetch"), absent, format_func=_described, key="fetch-which")
    if st.button(_("Fetch it"), key="fetch", icon=":material/download:") and is_instructor():
        fetches().start(name)
        st.rerun()


def _described(name: str) -> str:
    return f"{name}: {CATALOGUE[name].words}"


def _wait_for_engine() -> None:
    """It is starting; when it answers, the page is drawn again, with the models that it has."""
    if models_here():
        st.rerun()


def _watch() -> None:
    """How far the fetch is; when it has ended, the page is drawn again, with the model in its box."""
    state = fetches().state
    if state is None or state.ended:
        st.rerun()
        return
    share, done = state.share, f"{state.done / 1e6:,.0f}"
    if share is not None:
        done = _("{done} of {total}").format(done=done, total=f"{(state.total or 0) / 1e6:,.0f}")
    st.progress(share or 0.0, text=f"{code_span(state.name)}: {plain(state.what)}, {done} MB")
