"""One run with every setting, and every instrument on it."""

from __future__ import annotations

import streamlit as st

from lessons import catalogue
from views.asking import begin, show_engine_notice, show_refusal
from views.inside import show_trace
from views.instruments import show_figure, show_timings
from views.page_state import PageState
from views.picture import show_flipbook
from views.run_form import lab_form, note_unfamiliar
from views.scene import Scene, scene_of
from views.site import LAB, LAB_SETTINGS
from views.words import _


def show_lab() -> None:
    """Draw the Lab: the form, then the run in view with everything that can be said of it."""
    page = PageState(LAB, LAB_SETTINGS)
    problems = page.open()
    example = catalogue.lessons()[0].front
    st.markdown(_("One prompt, every setting, every instrument. Until you run something, a recording is on the page."))
    for problem in problems:
        st.warning(problem)
    scene = scene_of(page, example.recording)
    asked = lab_form(scene, example.prompt)
    note_unfamiliar(st.session_state[page.key("prompt")], example.model)
    if asked is not None:
        begin(page, asked, replaces=scene)
        st.rerun()
    show_refusal(page)
    show_engine_notice()
    _instruments(scene)


def _instruments(scene: Scene) -> None:
    show_flipbook(scene, told=True)
    if not scene.ended:
        st.caption(_("Timings and figures appear here when the run has ended."))
        return
    st.header(_("Timings"), anchor="timings")
    show_timings(scene)
    show_figure(scene, "passes")
    st.header(_("Memory"), anchor="memory")
    show_figure(scene, "memory")
    st.header(_("Inside one DeltaNet head"), anchor="inside")
    show_trace(scene)
