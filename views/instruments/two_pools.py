"""Two machines: both do everything, or one reads prompts and hands over to one that writes. Tails, rates, bytes."""

from __future__ import annotations

import statistics
from collections.abc import Mapping

import msgspec
import streamlit as st

from lessons.filters import decimal_bytes, milliseconds, significant
from lessons.named_shapes import WAYS
from views import figure_style
from views.cards import Card, show_cards
from views.engine_words import told
from views.figure_moved import moved_figure
from views.figure_percentiles import Panel, percentiles_figure
from views.instruments.frame import publish, show_drawn
from views.pools import ARRANGEMENTS, Arrangement, Chosen, Served, link_of, results, served
from views.scene import Scene
from views.shape_choice import NAMES
from views.theme import current_theme
from views.virtual_clock import simulated
from views.virtual_machines import clock_of, what_if_shape
from views.what_if_choice import Boxes, asked_for
from views.words import _

NAME = "two-pools"


def show(scene: Scene, settings: Mapping[str, str], key: str) -> None:
    """The form, and what it leads to."""
    boxes = Boxes(asked_for(settings, Chosen), key)
    _choose(boxes)
    boxes.answered(_answer, scene)


def _answer(scene: Scene, boxes: Boxes[Chosen]) -> None:
    """What is published belongs to the lesson's own settings, whatever a visitor chooses afterwards."""
    asked, chosen, key = boxes.asked, boxes.chosen, boxes.key
    outcome = base = _outcome(asked, f"{key}-base")
    if base is not None:
        publish(scene, NAME, results(base))
    if chosen != asked:
        outcome = _outcome(chosen, key)
    if outcome is None:
        return
    theme, shape = current_theme(), what_if_shape(chosen.shape)
    clock = clock_of(shape, chosen.machine)
    link = link_of(chosen.link)
    how = _("{model} on two machines, {machine}, {how}. Link: {link} ({source}, {dated}).").format(
        model=NAMES[chosen.shape], machine=clock.name, how=told(clock.how), link=link.name, source=link.source,
        dated=link.dated,
    )  # fmt: skip
    panels = [
        Panel(_("time to first token"), "prefill", [(chosen.heading(a), outcome[a].ttft) for a in ARRANGEMENTS]),
        Panel(_("gap between tokens"), "decode", [(chosen.heading(a), outcome[a].gap) for a in ARRANGEMENTS]),
    ]
    drawn = percentiles_figure(
        panels, theme, title=_("The same requests, three arrangements"), evidence="simulated", how=how
    )
    typical = round(statistics.median(one.n_prompt for one in chosen.setups()["split"][0].arrivals))
    moved = moved_figure(shape, link, typical, theme)
    figure_style.made(drawn, moved)
    _cards(chosen, outcome)
    show_drawn(drawn, NAME, scene, _linked(chosen), key)
    figure_style.show(moved, key=f"{key}-moved")


def _outcome(chosen: Chosen, key: str) -> dict[Arrangement, Served] | None:
    setups = chosen.setups()
    played = simulated([setup for arrangement in ARRANGEMENTS for setup in setups[arrangement]], key)
    if played is None:
        return None
    rest = iter(played)
    return {arrangement: served([next(rest) for _setup in setups[arrangement]]) for arrangement in ARRANGEMENTS}


def _choose(boxes: Boxes[Chosen]) -> None:
    with st.grid(3, min_column_width=200, gap="small"):
        boxes.one_of("link", _("Link"), list(WAYS), WAYS.__getitem__)
        boxes.lengths()
        boxes.decimal("rate", _("Requests a second"), 0.1, 1000.0)
    more = st.expander(_("More of the load and the machines"), key=f"{boxes.key}-more")
    with more, st.grid(3, min_column_width=170):
        boxes.model()
        boxes.machine()
        boxes.whole("requests", _("Requests"), 4, 200)
        boxes.whole("load_seed", _("Seed"), 0, 9999)
        boxes.whole("at_once", _("At once on a machine"), 1, 64)
        boxes.whole("chunk", _("Prompt tokens a step"), 16, 4096)


def _linked(chosen: Chosen) -> dict[str, str]:
    return {name: str(value) for name, value in msgspec.structs.asdict(chosen).items()}


def _cards(chosen: Chosen, outcome: Mapping[Arrangement, Served]) -> None:
    """The whole service's speed, which the arrangement hardly changes, and for the split what moved."""
    show_cards([_card(chosen.heading(one), outcome[one]) for one in ARRANGEMENTS], least_px=180)


def _card(heading: str, one: Served) -> Card:
    moved = ""
    if one.moved_bytes is not None and one.transfer_ns is not None:
        moved = _("moves {bytes} a request in {time} (medians)").format(
            bytes=decimal_bytes(one.moved_bytes), time=milliseconds(one.transfer_ns)
        )
    rate = _("{rate} tokens/s of all").format(rate=significant(one.tokens_per_s))
    return Card(heading, None, moved, words=rate)
