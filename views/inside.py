"""Inside the model: a head's state and gates, and times per layer, from an instrumented second pass over the tokens.

Asked for with a button, since it costs the engine another run.
"""

from __future__ import annotations

import streamlit as st

from engine.account.trace_record import TraceRecord
from views.engine_calls import take_trace
from views.figure_style import show
from views.figure_trace import gates_figure, layer_times_figure, state_figure
from views.page_state import PageState
from views.safe_text import plain, token_label
from views.scene import Scene
from views.theme import current_theme
from views.trace_arrays import mean_kept_shares
from views.words import _


def show_trace(scene: Scene) -> None:
    """The button, then the boxes and figures. A fragment: choosing another head redraws nothing else."""
    st.fragment(_trace, key=scene.page.key("trace"))(scene)


def _trace(scene: Scene) -> None:
    page, run = scene.page, scene.run
    if run is None:
        return
    if scene.run_id is None or not scene.whole:
        st.info(_("Run a prompt of your own to its end first: the instruments need its tokens."))
        return
    layers = [number for number, kind in enumerate(run.header.model.layer_types) if kind == "linear_attention"]
    if not layers:
        st.info(_("Every layer of this model is full attention: it has no recurrent state to look into."))
        return
    wanted = {page.key("traced"): scene.run_id}
    if st.session_state.get(page.key("traced")) != scene.run_id:
        st.button(
            _("Run it again with instruments"), key=page.key("trace-button"),
            on_click=st.session_state.update, args=(wanted,),
        )  # fmt: skip
        return
    _open_on_a_keeper(page, layers, scene.run_id)
    layer, head = (st.session_state.get(page.key(box), first) for box, first in (("layer", layers[0]), ("head", 0)))
    taken = take_trace(scene.run_id, layer, head)
    if taken.trace is None:
        st.error(plain(taken.problem or ""))
        return
    _choose_head(page, layers, taken.trace)
    _show_figures(scene, taken.trace)


def _open_on_a_keeper(page: PageState, layers: list[int], run_id: str) -> None:
    """Until a person chooses, show the head that keeps most: one that forgets at once has an empty table."""
    if page.key("layer") in st.session_state:
        return
    first = take_trace(run_id, layers[0], 0).trace
    if first is not None:
        kept = {(layer, head): share for layer in layers for head, share in enumerate(mean_kept_shares(first, layer))}
        layer, head = max(kept, key=kept.__getitem__)
        st.session_state.update({page.key("layer"): layer, page.key("head"): head})


def _show_figures(scene: Scene, trace: TraceRecord) -> None:
    theme, name = current_theme(), scene.page.name
    indices = trace.state.token_indices
    frame = st.selectbox(
        _("State after the token"), range(len(indices)), index=len(indices) - 1, width=250,
        format_func=lambda n: f"{indices[n] + 1} · {token_label(trace.tokens[indices[n]].text)}",
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
            format_func=lambda n: _("{head}, keeps {share} a token").format(head=n + 1, share=f"{kept[n]:.0%}"),
        )  # fmt: skip
