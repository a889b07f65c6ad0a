"""The flipbook on a page, and beneath it what can be done with its run: a link to share, the way to the Lab."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import streamlit as st

from engine.account.record import Run
from views import language
from views.flipbook import flipbook
from views.links import Link, address, write_link
from views.page_state import PageState
from views.run_company import show_company
from views.scene import Scene, SceneOnce, scene_of
from views.site import LAB, LAB_SETTINGS, lab_page
from views.words import _

LONGEST_SHARED_PROMPT = 1500
"""Characters; browsers and proxies cut addresses that are much longer."""


def show_flipbook(scene: Scene, *, told: bool, of_the_run: Sequence[str] = ()) -> None:
    """The picture, which also says how its run ended, and what can be done with the run.

    Until everything may be told, a recording only plays, without a word about its passes, and a live run stays covered.
    A fragment of its own, so that a new step redraws nothing else. When the run ends while it is watched, the rest of
    the page has still been drawn for a run that goes on: then, once, everything is drawn again, or only the fragments
    with the keys `of_the_run` where nothing else on the page depends on its run. The picture tells of the end, and not
    this script while it is still drawing the page: a short run would keep its own picture waiting.
    """
    if scene.problem:
        st.warning(scene.problem)
    st.session_state[scene.page.key("drawn")] = (scene.run_id, scene.ended)
    picture = st.fragment(_picture, key=scene.page.key("picture"))
    picture(scene.page, scene.recording, told, of_the_run, SceneOnce(scene))
    show_company(scene)


def _picture(page: PageState, recording: str, told: bool, of_the_run: Sequence[str], drawn: SceneOnce) -> None:
    with_the_page = drawn.take()
    scene = with_the_page or scene_of(page, recording)
    if scene.run is None:
        return
    shown = flipbook(
        run_id=scene.run_id,
        recording=scene.run if scene.recorded else None,
        at=page.link.at,
        reveal=True if told else "motion" if scene.recorded else False,
        key=page.key("flipbook"),
        on_ended=partial(_draw_again, page, of_the_run) if of_the_run else None,
    )
    page.go_to(shown.step)
    _controls(scene, scene.run)
    if with_the_page is None and st.session_state[page.key("drawn")] != (scene.run_id, scene.ended):
        st.rerun()


def _draw_again(page: PageState, of_the_run: Sequence[str]) -> None:
    """The run has ended: what was drawn for one that goes on is drawn again, and nothing else."""
    _run_id, was_drawn_ended = st.session_state[page.key("drawn")]
    if not was_drawn_ended:
        st.rerun(of_the_run)


def _controls(scene: Scene, run: Run) -> None:
    """What can be done with a live run that has ended."""
    page = scene.page
    if scene.recorded or not scene.ended:
        return
    with st.container(horizontal=True, vertical_alignment="center", key=page.key("controls")):
        _share(scene, run)
        if page.name != LAB:
            in_lab = write_link(
                Link(run.header.sampling, run=scene.run_id, at=page.link.at, serving=run.header.serving), LAB_SETTINGS
            )
            st.page_link(lab_page(), label=_("Open it in the Lab"), icon=":material/tune:", query_params=in_lab)


def _share(scene: Scene, run: Run) -> None:
    """A link that opens the same run at the same step, and can start it again elsewhere."""
    with st.popover(_("Share this run"), icon=":material/link:", key=scene.page.key("share")):
        prompt = run.header.prompt
        fits = len(prompt) <= LONGEST_SHARED_PROMPT
        shared = replace(
            scene.page.link, sampling=run.header.sampling, prompt=prompt if fits else None, guesses=(),
            serving=run.header.serving,
        )  # fmt: skip
        st.markdown(
            _("This link carries your prompt, the settings and the step in view. Whoever has it can read them.")
            if fits
            else _("Your prompt is too long for a link. This one carries the run, the settings and the step in view.")
        )
        st.code(
            address(st.context.url, write_link(shared, scene.page.default) | language.in_link()),
            language=None,
            wrap_lines=True,
        )
