"""The collision on the real engine, with the visitor's own prompt: the button, three numbers, and the steps."""

from __future__ import annotations

import streamlit as st

from lessons.filters import milliseconds, significant
from views import figure_style
from views.cards import Card, show_cards
from views.colliding import Collided, collide, kept, own_results
from views.collision_scene import SINCE, close_up
from views.evidence import Evidence
from views.figure_steps import steps_figure
from views.instruments.frame import publish, show_drawn
from views.measuring import offer, prompt_in_view, show_prompt
from views.scene import Scene
from views.theme import current_theme
from views.words import _

NAME = "collision"


def show_engine(scene: Scene, key: str) -> None:
    """What was measured here, if anything, else what is kept."""
    prompt = prompt_in_view(scene)
    mine = scene.page.key("collided")
    offer(_("Run my prompt, and paste a book"), mine, key, lambda tell: collide(prompt, tell))
    show_prompt(prompt, mine)
    found: Collided | None = st.session_state.get(mine) or kept()
    if found is None:
        st.info(_("There is no recorded measurement here. Run it to see the figure."))
        return
    publish(scene, NAME, own_results(found))
    evidence: Evidence = "measured" if found.is_own else "recorded"
    own = list(found.playback.arrivals)[:-1] if found.is_own else []
    drawn = steps_figure(
        [close_up(found.playback)], current_theme(), own=own, evidence=evidence, how=found.how,
        title=_("What the engine did in each step"), since=_(SINCE),
    )  # fmt: skip
    figure_style.made(drawn)
    _cards(found)
    show_drawn(drawn, NAME, scene, {"source": "engine"}, key)


def _cards(found: Collided) -> None:
    told = found.outcome
    times = _("{times} times the usual one").format(times=significant(told.stall_ns / told.plain_gap_ns, 2))
    show_cards(
        [
            Card(_("Usual gap between tokens"), milliseconds(told.plain_gap_ns), _("before the long prompt came")),
            Card(_("Longest gap"), milliseconds(told.stall_ns), times),
            Card(_("The long prompt's first token"), milliseconds(told.ttft_ns), _("after it came")),
        ],
        least_px=160,
    )
