"""A second run of the prompt in view, served in another way: offered with a button, then looked after until it ends."""

from __future__ import annotations

import streamlit as st

from engine.account.record import Run, Serving
from views.asking import watch_runs
from views.engine_calls import start_run
from views.safe_text import plain
from views.scene import Scene
from views.two_runs import same_question
from views.words import _


def other_of(scene: Scene, serving: Serving, label: str, key: str) -> Run | None:
    """The second run once it has come to its end; until then a button that starts it, or a line on how far it is.

    A lesson that names a second run starts it by itself; the button is for the Lab and for a run opened by its link.
    """
    other = scene.other_run
    if scene.run is None or not scene.ended:
        st.caption(_("The comparison appears here when the run has ended."))
        return None
    if other is None or not same_question(scene.run, other) or not _served_like(other, serving):
        _offer(scene, serving, label, key)
        return None
    if other.end is None:
        watch_runs(scene)
        return None
    if not other.passes:
        st.caption(_("The second run has no pass to show."))
        return None
    return other


def _served_like(run: Run, wanted: Serving) -> bool:
    """Whether a run was served as the comparison needs it; the Lab may hold one that another instrument asked for."""
    serving = run.header.serving
    alike = serving.cache == wanted.cache and (serving.drafts == "none") == (wanted.drafts == "none")
    return alike and serving.weights == wanted.weights


def _offer(scene: Scene, serving: Serving, label: str, key: str) -> None:
    if scene.run_id is None or not scene.whole:
        st.info(_("Run a prompt of your own to its end first: then it can run a second time for the comparison."))
        return
    if st.button(label, key=f"second-{key}"):
        assert scene.run is not None
        header = scene.run.header
        started = start_run(header.prompt, header.sampling, serving)
        if started.run_id is None:
            st.error(plain(started.problem or ""))
            return
        scene.page.start_other(started.run_id)
        st.rerun()
