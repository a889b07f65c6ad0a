"""One run with every setting, and every instrument on it."""

from __future__ import annotations

import streamlit as st

from lessons import catalogue
from lessons.instruments import INSTRUMENTS
from views.asking import begin, show_engine_notice
from views.instruments import show_instrument
from views.model_fetching import show_fetching
from views.model_picker import models_here
from views.outside import outside_chosen, show_outside
from views.page_state import PageState
from views.picture import show_flipbook
from views.run_form import STOP, is_sent, lab_form, note_unfamiliar, problem_with, sent_from_lab
from views.run_refused import show_refusal
from views.safe_text import code_span
from views.scene import Scene, SceneOnce, scene_of
from views.serving_form import show_serving
from views.site import LAB, LAB_SETTINGS
from views.words import _, language


def show_lab() -> None:
    """Draw the Lab: the form, then the run in view with everything that can be said of it."""
    if outside_chosen():
        show_outside()
        return
    page = PageState(LAB, LAB_SETTINGS)
    page.open()
    models = _models(page)
    example = catalogue.lessons(language())[0].front
    st.markdown(_("One prompt, every setting, every instrument. Until you run something, a recording is on the page."))
    before = page.link.run
    with st.container():  # its place is the same whether or not there is anything in it
        refused = _begin_what_was_sent(page, models, example.recording)
    for problem in page.problems:
        st.warning(problem)
    scene = scene_of(page, example.recording)
    lab_form(scene, example.prompt, models)
    note_unfamiliar(st.session_state[page.key("prompt")], st.session_state.get(page.key("model")) or example.model)
    if refused:
        st.error(refused)
    show_refusal(page, lambda again: begin(page, again, replaces=None))
    if page.link.run == before:  # an engine that has just begun a run is ready
        show_engine_notice()
    show_fetching(models)
    st.fragment(_on_the_run, key=page.key(RUN))(page, example.recording, SceneOnce(scene))


def _models(page: PageState) -> list[str]:
    """The models here; for a form that was sent, those that it was drawn with, so that its run is asked for at once."""
    key = page.key("models")
    models: list[str] = (st.session_state.get(key) if is_sent(page) else None) or models_here()
    st.session_state[key] = models
    return models


def _begin_what_was_sent(page: PageState, models: list[str], recording: str) -> str | None:
    """Start the run that the form was sent for, if it was; why it cannot be run, or None."""
    asked = sent_from_lab(page, models)
    if asked is None:
        return None
    if problem := problem_with(asked):
        return problem
    begin(page, asked, replaces=scene_of(page, recording))
    return None


RUN = "on-the-run"
"""Key of the fragment with all that is about the run in view."""

STANDING = ("metrics", "passes", "memory", "trace")
"""What the Lab always shows of its run."""


def _chosen_instrument(scene: Scene) -> None:
    """Any other instrument, from the box or from the address: `?instrument=<name>&<its settings>`."""
    choices = [name for name, one in INSTRUMENTS.items() if one.in_lab and name not in STANDING]
    if not choices:
        return
    key = scene.page.key("instrument")
    linked = st.query_params.get("instrument")
    if linked in choices and st.session_state.get(scene.page.key("linked")) != linked:
        st.session_state[key] = st.session_state[scene.page.key("linked")] = linked
    chosen = st.selectbox(
        _("Instruments"), choices, index=None, key=key, persist_state="session",
        format_func=lambda name: _(INSTRUMENTS[name].title), placeholder=_("Choose an instrument"),
    )  # fmt: skip
    if chosen != linked:
        _forget_linked()
    st.session_state[scene.page.key("linked")] = chosen
    if chosen is not None:
        st.query_params["instrument"] = chosen
        st.header(_(INSTRUMENTS[chosen].title), anchor="instrument")
        st.caption(_(INSTRUMENTS[chosen].purpose))
        show_instrument(chosen, scene, _linked_settings(chosen), f"{scene.page.name}-chosen-{chosen}")


def _forget_linked() -> None:
    """Another instrument is chosen: what a link said of the last one is not meant for it."""
    for name in {"instrument"}.union(*(one.settings for one in INSTRUMENTS.values())):
        if name in st.query_params:
            del st.query_params[name]


def _linked_settings(name: str) -> dict[str, str]:
    """The instrument's settings in the address; one that cannot be used is left out, and said to be."""
    settings = {}
    for setting in INSTRUMENTS[name].settings:
        value = st.query_params.get(setting)
        if value is None:
            continue
        if INSTRUMENTS[name].problem(setting, value):
            st.warning(_("{name} in the link cannot be used, so it was left out.").format(name=code_span(setting)))
        else:
            settings[setting] = value
    return settings


def _on_the_run(page: PageState, recording: str, drawn: SceneOnce) -> None:
    """Drawn with the page, and once more by itself when the run has ended: the form stays as it is."""
    scene = drawn.take() or scene_of(page, recording)
    _chosen_instrument(scene)
    show_serving(scene)
    show_flipbook(scene, told=True, of_the_run=[page.key(STOP), page.key(RUN)])
    if not scene.ended:
        st.caption(_("Timings and figures appear here when the run has ended."))
        return
    st.header(_("Timings"), anchor="timings")
    show_instrument("metrics", scene, {}, f"{LAB}-metrics")
    show_instrument("passes", scene, {}, f"{LAB}-passes")
    st.header(_("Memory"), anchor="memory")
    show_instrument("memory", scene, {}, f"{LAB}-memory")
    st.header(_("Inside one DeltaNet head"), anchor="inside")
    show_instrument("trace", scene, {}, f"{LAB}-trace")
