"""Inside the fixed state: how long heads keep, what each token erased and wrote, and where a planted name survives."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import msgspec
import streamlit as st

from engine.account.trace_record import TraceRecord
from lessons.expressions import Value
from lessons.playback import MEASUREMENTS
from lessons.recall import Recall, kept_recall
from views.engine_calls import take_trace
from views.figure_state import MARKED, changes_figure, heads_figure, mean_effect, recall_figure
from views.instruments.frame import publish, show_drawn
from views.recall_try import show_recall_try
from views.safe_text import plain
from views.scene import Scene
from views.state_changes import HeadKeeps, heads_keep, longest
from views.theme import current_theme
from views.words import _

KEPT_TRACE = "trace-named-max"


def show(scene: Scene, settings: Mapping[str, str], key: str) -> None:
    """The parts that `part:` asks for, or all of them."""
    chosen = settings.get("part")
    for part, draw in _PARTS.items():
        if chosen in (None, part):
            draw(scene, settings, key)


def _show_heads(scene: Scene, settings: Mapping[str, str], key: str) -> None:
    trace = _trace_of(scene, key)
    if trace is None:
        return
    heads = heads_keep(trace)
    recorded = not _looks_into_own(scene)
    publish(scene, "state", results_of(heads))
    show_drawn(heads_figure(trace, current_theme(), recorded=recorded), "state", scene, settings, f"{key}-heads")
    if recorded:
        _say_what_is_shown(trace)
    else:
        _choose_head(heads, trace, key)
    if (drawn := changes_figure(trace, current_theme(), recorded=recorded)) is not None:
        show_drawn(drawn, "state", scene, settings, f"{key}-changes")
    else:
        st.info(_("This text is too long to keep the state after every token, so its changes are not shown."))


def _show_recall(scene: Scene, settings: Mapping[str, str], key: str) -> None:
    try:
        recall = kept_recall()
    except (OSError, msgspec.DecodeError):
        st.info(_("The kept measurement cannot be read."))
    else:
        publish(scene, "state", recall_results(recall))
        show_drawn(recall_figure(recall, current_theme()), "state", scene, settings, f"{key}-recall")


def _show_try(scene: Scene, _settings: Mapping[str, str], key: str) -> None:
    st.fragment(show_recall_try, key=f"try-{key}")(scene, key)


_PARTS: dict[str, Callable[[Scene, Mapping[str, str], str], None]] = {
    "heads": _show_heads,
    "recall": _show_recall,
    "try": _show_try,
}


def results_of(heads: list[HeadKeeps]) -> dict[str, Value]:
    """What the half-lives tell, under the names that lessons.instruments lists."""
    half_lives = sorted(one.half_life for one in heads)
    best, (near, far) = longest(heads), MARKED
    return {
        "heads": len(heads),
        "shortest": half_lives[0],
        "median": half_lives[len(half_lives) // 2],
        "longest": best.half_life,
        "longest_layer": best.layer + 1,
        "longest_head": best.head + 1,
        "under_two": sum(one < 2 for one in half_lives),
        "left_near": best.share_after(near),
        "left_far": best.share_after(far),
    }


def recall_results(recall: Recall) -> dict[str, Value]:
    """What the kept measurement tells of a name nearby (the second distance) and far away (the last)."""
    near, far = recall.places[1], recall.places[-1]
    both, cache_alone, state_alone = mean_effect(near)
    return {
        "name_pairs": len(near.both),
        "name_near": near.distance,
        "name_far": far.distance,
        "name_shift_near": both,
        "name_shift_far": mean_effect(far)[0],
        "name_times_near": math.exp(both),
        "name_times_far": math.exp(mean_effect(far)[0]),
        "name_cache_share": cache_alone / both,
        "name_state_share": state_alone / both,
    }


def _trace_of(scene: Scene, key: str) -> TraceRecord | None:
    """The trace of the person's own run once they asked for it; until then the kept one."""
    run_id = scene.run_id if scene.whole else None
    if run_id is not None and not _looks_into_own(scene):
        st.button(
            _("Look into my own run"), key=f"own-{key}",
            on_click=st.session_state.update, args=({scene.page.key("state-of"): run_id},),
        )  # fmt: skip
    if run_id is None or not _looks_into_own(scene):
        return _kept_trace()
    layers = _linear_layers(scene)
    if not layers:
        st.info(_("Every layer of this model is full attention: it has no recurrent state to look into."))
        return None
    layer, head = st.session_state.get(f"head-{key}") or _keeper(run_id, layers[0])
    taken = take_trace(run_id, layer, head)
    if taken.trace is None:
        st.error(plain(taken.problem or ""))
    return taken.trace


def _looks_into_own(scene: Scene) -> bool:
    """Whether the person asked for the trace of the very run in view."""
    return scene.run_id is not None and st.session_state.get(scene.page.key("state-of")) == scene.run_id


def _keeper(run_id: str, layer: int) -> tuple[int, int]:
    """The head that keeps longest: until a person chooses, that of a head that forgets at once would show little."""
    trace = take_trace(run_id, layer, 0).trace
    best = longest(heads_keep(trace)) if trace else HeadKeeps(layer, 0, 0.0)
    return best.layer, best.head


def _linear_layers(scene: Scene) -> list[int]:
    kinds = scene.run.header.model.layer_types if scene.run else []
    return [number for number, kind in enumerate(kinds) if kind == "linear_attention"]


def _kept_trace() -> TraceRecord | None:
    try:
        raw = (MEASUREMENTS / f"{KEPT_TRACE}.json").read_bytes()
        return msgspec.json.decode(raw, type=TraceRecord)
    except (OSError, msgspec.DecodeError):
        st.info(_("The recorded example cannot be read."))
        return None


def _say_what_is_shown(trace: TraceRecord) -> None:
    begins = plain("".join(token.text for token in trace.tokens[:11]))
    st.caption(
        _("A recorded example: the text begins “{text}”. Run a prompt of your own to choose a head.").format(
            text=begins
        )
    )


def _choose_head(heads: list[HeadKeeps], trace: TraceRecord, key: str) -> None:
    """A box of all heads, each with its half-life; a kept trace holds the states of one head only."""
    options = [(one.layer, one.head) for one in heads]
    keeps = {(one.layer, one.head): one.half_life for one in heads}
    st.selectbox(
        _("Head to look into"), options, key=f"head-{key}", width=320,
        index=options.index((trace.state.layer, trace.state.head)),
        format_func=lambda one: _("layer {layer}, head {head}: half-life {n}").format(
            layer=one[0] + 1, head=one[1] + 1, n=f"{keeps[one]:.1f}"
        ),
    )  # fmt: skip
