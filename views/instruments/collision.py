"""One long prompt among decoders: who stalls without chunks, and what chunks cost the one who is cut."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import streamlit as st

from views import figure_style
from views.collision_engine import show_engine
from views.collision_scene import SINCE, Chosen, close_up, measured, of_chunk, outcome, played, results
from views.engine_words import told
from views.figure_collision import trade_figure
from views.figure_steps import steps_figure
from views.instruments.frame import publish, show_drawn
from views.scene import Scene
from views.shape_choice import NAMES
from views.site import LAB
from views.theme import current_theme
from views.virtual_clock import simulated
from views.virtual_machines import clock_of, what_if_shape
from views.what_if_choice import Boxes, asked_for
from views.words import N_, Words, _

NAME = "collision"
SOURCES = Words(
    {
        "simulated": N_("on the virtual clock"),
        "recorded": N_("the real engine, recorded"),
        "engine": N_("this engine, now"),
    }
)


def show(scene: Scene, settings: Mapping[str, str], key: str) -> None:
    """The source is the author's choice in a lesson, and the visitor's in the Lab."""
    source = settings.get("source", "simulated")
    if scene.page.name == LAB:
        source = st.segmented_control(
            _("Steps of"), list(SOURCES), default=source, format_func=SOURCES.__getitem__, key=f"{key}-source",
            required=True,
        )  # fmt: skip
    if source == "engine":
        show_engine(scene, key)
    elif source == "recorded":
        _show_recorded(scene, settings, key)
    else:
        _show_simulated(scene, settings, key)


def _show_simulated(scene: Scene, settings: Mapping[str, str], key: str) -> None:
    """The form, and what it leads to."""
    boxes = Boxes(asked_for(settings, Chosen), key)
    _choose(boxes)
    boxes.answered(_answer, scene)


def _answer(scene: Scene, boxes: Boxes[Chosen]) -> None:
    """What is published belongs to the lesson's own settings, whatever a visitor chooses afterwards."""
    asked, chosen, key = boxes.asked, boxes.chosen, boxes.key
    for one in dict.fromkeys((asked, chosen)):
        setups = one.setups()
        if (simulations := simulated(setups, f"{key}-{one.chunk}-{one.prompt_tokens}")) is None:
            return
        scenes = played(setups, simulations)
        if one == asked:
            publish(scene, NAME, results(scenes, one.chunk))
    clock = clock_of(what_if_shape(chosen.shape), chosen.machine)
    how = _("{model} on {machine}, {how}.").format(model=NAMES[chosen.shape], machine=clock.name, how=told(clock.how))
    theme = current_theme()
    pair = [close_up(of_chunk(scenes, chunk)) for chunk in (None, chosen.chunk)]
    drawn = steps_figure(
        pair, theme, own=(), evidence="simulated", how=how, title=_("The collision, on one clock"), since=_(SINCE)
    )
    trade = trade_figure([outcome(one) for one in scenes], theme, evidence="simulated", how=how)
    figure_style.made(drawn, trade)
    show_drawn(drawn, NAME, scene, {"source": "simulated", **_linked(chosen)}, key)
    figure_style.show(trade, key=f"{key}-trade")


def _choose(boxes: Boxes[Chosen]) -> None:
    with st.grid(3, min_column_width=200, gap="small"):
        boxes.whole("chunk", _("Prompt tokens a step"), 16, 4096)
        boxes.whole("prompt_tokens", _("Tokens of the long prompt"), 512, 32_768)
        boxes.whole("decoders", _("Requests that decode"), 1, 16)
        boxes.model()
        boxes.machine()


def _linked(chosen: Chosen) -> dict[str, str]:
    return {name: str(value) for name, value in msgspec.structs.asdict(chosen).items()}


def _show_recorded(scene: Scene, settings: Mapping[str, str], key: str) -> None:
    taken = measured()
    if taken is None:
        st.info(_("There is no recorded measurement here."))
        return
    sizes = [one.policy.chunk for one in taken.playbacks if one.policy.chunk is not None]
    asked = int(settings.get("chunk", sizes[-1]))
    asked = asked if asked in sizes else sizes[-1]
    chunk = st.segmented_control(
        _("Below, in chunks of"), sizes, default=asked, key=f"{key}-recorded-chunk", required=True
    )
    publish(scene, NAME, {f"real_{name}": value for name, value in results(taken.playbacks, asked).items()})
    taken_at = _("{model} on {machine}, {threads} threads, {day}: {how}.").format(
        model=taken.model, machine=taken.machine, threads=taken.threads, day=taken.created[:10], how=taken.how
    )
    how = taken_at + " " + _("An engine keeps the policy that it started with, so a page cannot run this comparison.")
    theme = current_theme()
    pair = [close_up(of_chunk(taken.playbacks, size)) for size in (None, chunk)]
    drawn = steps_figure(
        pair, theme, own=(), evidence="recorded", how=how, title=_("The real engine, on one clock"), since=_(SINCE)
    )
    trade = trade_figure([outcome(one) for one in taken.playbacks], theme, evidence="recorded", how=how)
    figure_style.made(drawn, trade)
    show_drawn(drawn, NAME, scene, {"source": "recorded", "chunk": str(chunk)}, key)
    figure_style.show(trade, key=f"{key}-trade")
