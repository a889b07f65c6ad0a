"""The instruments of a run, for lessons and the Lab alike: flipbook and controls, timings, figures, the trace."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from engine.account.record import End, Run
from engine.account.trace_record import TraceRecord
from views.engine_calls import stop_run, take_trace
from views.figure_memory import memory_figure
from views.figure_passes import passes_figure
from views.figure_style import show
from views.figure_trace import gates_figure, layer_times_figure, state_figure
from views.flipbook import flipbook
from views.links import Link, address, write_link
from views.metrics import show_metrics
from views.page_state import PageState
from views.safe_text import token_label
from views.scene import Scene, scene_of
from views.site import LAB, LAB_SETTINGS, lab_page
from views.theme import current_theme
from views.trace_arrays import mean_kept_shares
from views.words import _, ngettext

LONGEST_SHARED_PROMPT = 1500
"""Characters; browsers and proxies cut addresses that are much longer."""


def show_flipbook(scene: Scene, *, reveal: bool) -> None:
    """The picture and what belongs to its run: Stop, a link to share, how it ended.

    A fragment of its own, so that a new step redraws nothing else. When the run ends while it is watched, the rest of
    the page has still been drawn for a run that goes on: then, once, everything is drawn again.
    """
    if scene.problem:
        st.warning(scene.problem)
    st.session_state[scene.page.key("drawn")] = (scene.run_id, scene.ended)
    st.fragment(_picture, key=scene.page.key("picture"))(scene.page, scene.recording, reveal)


def _picture(page: PageState, recording: str, reveal: bool) -> None:
    scene = scene_of(page, recording)
    if scene.run is None:
        return
    shown = flipbook(
        run_id=scene.run_id,
        recording=scene.run if scene.recorded else None,
        at=page.link.at,
        reveal=reveal,
        key=page.key(f"flipbook.{scene.run_id or 'recording'}"),
    )
    page.go_to(shown.step)
    _say_how_it_ended(scene.run)
    _controls(scene, scene.run)
    if st.session_state[page.key("drawn")] != (scene.run_id, scene.ended):
        st.rerun()


def _controls(scene: Scene, run: Run) -> None:
    page = scene.page
    with st.container(horizontal=True, vertical_alignment="center", key=page.key("controls")):
        if scene.run_id is not None and not scene.ended:
            if st.button(_("Stop"), icon=":material/stop:", shortcut="Escape", key=page.key("stop-button")):
                _say(stop_run(scene.run_id))
        elif scene.run_id is not None:
            _share(scene, run)
            if page.name != LAB:
                in_lab = write_link(Link(run.header.sampling, run=scene.run_id, at=page.link.at), LAB_SETTINGS)
                st.page_link(lab_page(), label=_("Open it in the Lab"), icon=":material/tune:", query_params=in_lab)


def show_timings(scene: Scene) -> None:
    """The cards of queue, first token, gaps and speeds."""
    if scene.run is not None:
        show_metrics(scene.run, recorded=scene.recorded, key=scene.page.name)


def show_figure(scene: Scene, name: str) -> None:
    """One of the figures of a run that has passes: "passes" or "memory"."""
    if scene.run is None or not scene.run.passes:
        return
    theme = current_theme()
    drawn = (
        passes_figure(scene.run, theme, recorded=scene.recorded)
        if name == "passes"
        else memory_figure(scene.run, theme)
    )
    show(drawn, key=f"{scene.page.name}-{name}")


def show_trace(scene: Scene) -> None:
    """The second pass with instruments: asked for with a button, since it costs the engine a run. A fragment."""
    st.fragment(_trace, key=scene.page.key("trace"))(scene)


def _trace(scene: Scene) -> None:
    page, run = scene.page, scene.run
    if run is None:
        return
    if scene.run_id is None or not scene.whole:
        st.info(_("Run a prompt of your own to its end first: the instruments need its tokens."))
        return
    shape = run.header.model
    if st.session_state.get(page.key("traced")) != scene.run_id:
        if not st.button(_("Run it again with instruments"), key=page.key("trace-button")):
            return
        st.session_state[page.key("traced")] = scene.run_id
        st.rerun(scope="fragment")
    layers = [number for number, kind in enumerate(shape.layer_types) if kind == "linear_attention"]
    layer = st.session_state.get(page.key("layer"), layers[0])
    taken = take_trace(scene.run_id, layer, st.session_state.get(page.key("head"), 0))
    if taken.trace is None:
        st.error(taken.problem)
        return
    _choose_head(page, layers, taken.trace)
    _show_trace_figures(scene, taken.trace)


def _show_trace_figures(scene: Scene, trace: TraceRecord) -> None:
    theme, name = current_theme(), scene.page.name
    indices = trace.state.token_indices
    frame = st.select_slider(
        _("State after the token"), options=range(len(indices)), value=len(indices) - 1,
        format_func=lambda place: f"{indices[place] + 1} · {token_label(trace.tokens[indices[place]].text)}",
        key=scene.page.key("frame"),
    )  # fmt: skip
    state, gates = st.columns(2, gap="medium")
    with state:
        show(state_figure(trace, frame, theme), key=f"{name}-state")
    with gates:
        show(gates_figure(trace, theme), key=f"{name}-gates")
    show(layer_times_figure(trace, theme), key=f"{name}-layers")


def _choose_head(page: PageState, layers: list[int], trace: TraceRecord) -> None:
    """Boxes for layer and head. A head is named with how much it keeps, since heads differ in nothing so much."""
    kept = mean_kept_shares(trace, trace.state.layer)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.selectbox(
            _("DeltaNet layer"), layers, format_func=lambda number: str(number + 1), width=150, key=page.key("layer")
        )
        st.selectbox(
            _("Head"), range(len(kept)), width=250, key=page.key("head"),
            format_func=lambda head: _("{head}, keeps {share} a token").format(head=head + 1, share=f"{kept[head]:.0%}"),
        )  # fmt: skip


def _say_how_it_ended(run: Run) -> None:
    """A run that failed or was stopped says so; one that went to its end needs no words."""
    if isinstance(run.end, End) and run.end.reason == "cancelled":
        n = len(run.passes)
        st.info(ngettext("Stopped after {n} pass.", "Stopped after {n} passes.", n).format(n=n))
    elif run.end is not None and not isinstance(run.end, End):
        st.error(run.end.message)


def _share(scene: Scene, run: Run) -> None:
    """A link that opens the same run at the same step, and can start it again elsewhere."""
    with st.popover(_("Share this run"), icon=":material/link:", key=scene.page.key("share")):
        prompt = run.header.prompt
        fits = len(prompt) <= LONGEST_SHARED_PROMPT
        shared = replace(scene.page.link, sampling=run.header.sampling, prompt=prompt if fits else None)
        st.markdown(
            _("This link carries your prompt, the settings and the step in view. Whoever has it can read them.")
            if fits
            else _("Your prompt is too long for a link. This one carries the run, the settings and the step in view.")
        )
        st.code(address(st.context.url, write_link(shared, scene.page.default)), language=None, wrap_lines=True)


def _say(problem: str | None) -> None:
    if problem:
        st.error(problem)
