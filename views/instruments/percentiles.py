"""Percentiles of a service by prompt length and concurrency, beside the mean that hides them."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from engine.loop.arrivals import BadLoad
from views import figure_style
from views.engine_words import told
from views.instruments.frame import publish, show_drawn
from views.scene import Scene
from views.service_panels import first_tokens, gaps, results, show_report
from views.theme import current_theme
from views.what_if_choice import Boxes, asked_for
from views.what_if_service import Chosen, choose, played

NAME = "percentiles"


def show(scene: Scene, settings: Mapping[str, str], key: str) -> None:
    """The form, and what it leads to."""
    boxes = Boxes(asked_for(settings, Chosen), key)
    choose(boxes)
    boxes.answered(_answer, scene)


def _answer(scene: Scene, boxes: Boxes[Chosen]) -> None:
    """What is published belongs to the lesson's own settings, whatever a visitor chooses afterwards."""
    asked, chosen, key = boxes.asked, boxes.chosen, boxes.key
    try:
        found = base = played(asked, f"{key}-base")
        if base is not None and base[1].by_length:
            publish(scene, NAME, results(base[1]))
        if chosen != asked:
            found = played(chosen, key)
    except BadLoad as no:
        st.error(told(str(no)))
        return
    if found is None or not found[1].finished.n:
        return
    theme = current_theme()
    first = first_tokens(found[1], theme, evidence="simulated", how=chosen.how)
    second = gaps(found[1], theme, evidence="simulated", how=chosen.how)
    figure_style.made(first, second)
    show_report(found[1])
    show_drawn(first, NAME, scene, chosen.linked(), key)
    if second is not None:
        figure_style.show(second, key=f"{key}-gaps")
