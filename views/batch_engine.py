"""The step table of the real engine: a visitor's prompt alone, then many times at once."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from engine.account.record import Sampling
from lessons.filters import significant
from views import figure_style
from views.cards import Card, show_cards
from views.evidence import Evidence
from views.figure_sharing import sharing_figure
from views.figure_steps import steps_figure
from views.instruments.frame import publish, show_drawn
from views.measuring import offer, prompt_in_view, show_prompt
from views.scene import Scene
from views.sharing import MOST_COPIES, Shared, kept, kept_rates, measure, own_rate
from views.theme import current_theme
from views.words import _

NAME = "batch-table"
SAMPLING = Sampling(max_new_tokens=60, ignore_eos=True)


def show_engine(scene: Scene, settings: Mapping[str, str], key: str) -> None:
    """The button, the three numbers, the curve over how many run at once, and the steps."""
    prompt = prompt_in_view(scene)
    mine = scene.page.key("shared")
    with st.container(horizontal=True, vertical_alignment="bottom", key=f"{key}-ask"):
        n = int(
            st.number_input(
                _("Copies of your prompt"), 2, MOST_COPIES, int(settings.get("n", "8")), key=f"{key}-n", width=140
            )
        )
        offer(
            _("Run one alone, then {n} at once").format(n=n), mine, key, lambda tell: measure(prompt, SAMPLING, n, tell)
        )
    show_prompt(prompt, mine)
    shared: Shared | None = st.session_state.get(mine) or kept(n) or kept(MOST_COPIES)
    if shared is None:
        st.info(_("There is no recorded measurement here. Run it to see the figure."))
        return
    publish(scene, NAME, sharing_results(shared))
    theme = current_theme()
    evidence: Evidence = "measured" if shared.measured else "recorded"
    points = [(1, shared.alone), (shared.n, shared.together)] if shared.measured else []
    own = [(at, one.tokens_per_s or 0.0, own_rate(one) or 0.0) for at, one in points]
    curve = None
    if rates := kept_rates():
        curve = sharing_figure(rates, own, theme, evidence=evidence, how=_curve_how(shared))
    own_tickets = [*shared.alone.arrivals, *shared.together.arrivals] if shared.measured else []
    drawn = steps_figure(
        [shared.alone, shared.together], theme, own=own_tickets, evidence=evidence, how=shared.how,
        title=_("Who took part in each step"),
    )  # fmt: skip
    figure_style.made(curve, drawn)
    _cards(shared)
    if curve is not None:
        figure_style.show(curve, key=f"{key}-curve")
    show_drawn(drawn, NAME, scene, {"source": "engine", "n": str(n)}, key)


def _curve_how(shared: Shared) -> str:
    stored = kept(shared.n) or kept(MOST_COPIES)
    lines = [stored.how] if stored else []
    if shared.measured:
        lines.append(shared.how)
    lines.append(
        _(
            "All together: new tokens of everybody ÷ the time from the first step's start to the last one's end. Each: "
            "tokens after the first ÷ the time they took, the median of the requests."
        )
    )
    return "\n\n".join(lines)


def sharing_results(shared: Shared) -> dict[str, float | int | None]:
    """What prose and questions may use of one alone and n at once."""
    return {
        "n": shared.n,
        "alone_rate": shared.alone.tokens_per_s,
        "all_rate": shared.together.tokens_per_s,
        "gain": shared.gain,
        "own_rate_alone": own_rate(shared.alone),
        "own_rate": own_rate(shared.together),
        "own_share": shared.own_share,
    }


def _cards(shared: Shared) -> None:
    found = sharing_results(shared)
    cards = [
        (_("One alone"), found["alone_rate"], _("tokens/s, prompt included")),
        (_("{n} at once, all").format(n=shared.n), found["all_rate"], _times(shared.gain)),
        (_("Each of {n}").format(n=shared.n), found["own_rate"], _share(shared.own_share)),
    ]
    told = [(label, None if value is None else significant(value), note) for label, value, note in cards]
    show_cards([Card(*one) for one in told], least_px=140)


def _times(gain: float | None) -> str:
    return _("tokens/s, {times} × one alone").format(times=significant(gain, 2)) if gain is not None else ""


def _share(share: float | None) -> str:
    return _("tokens/s after its first, {share} of its speed alone").format(share=f"{share:.0%}") if share else ""
