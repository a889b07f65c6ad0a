"""The step table of a load on the virtual clock: the same arrivals under two policies, on one clock."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

import msgspec
import streamlit as st

from engine.loop.arrivals import ArrivalProcess
from engine.loop.policy import Policy, PolicyName
from lessons.filters import milliseconds, significant
from lessons.playback import Playback
from views.cards import Card, show_cards
from views.engine_words import told
from views.figure_steps import steps_figure
from views.figure_style import made
from views.instruments.frame import publish, show_drawn
from views.scene import Scene
from views.shape_choice import NAMES
from views.theme import current_theme
from views.virtual_clock import Setup, simulated
from views.virtual_machines import clock_of, what_if_shape
from views.what_if_choice import Boxes, asked_for
from views.what_if_load import arrivals, lengths_of, playback_of, policy_name
from views.words import _

NAME = "batch-table"
MOST_REQUESTS = 24


class Chosen(msgspec.Struct, frozen=True):
    """A load and the two policies that meet it."""

    shape: str = "qwen27b"
    machine: str = "h100"
    first: PolicyName = "static"
    second: PolicyName = "decode_first"
    at_once: int = 4
    chunk: int = 256
    process: ArrivalProcess = "poisson"
    rate: float = 4.0
    requests: int = 12
    lengths: str = "short"
    load_seed: int = 5
    mine: int = 6
    """The request that is marked, counted by arrival."""

    def setups(self) -> list[Setup]:
        """The same arrivals under either policy."""
        asked = arrivals(self.shape, self.process, self.rate, self.requests, lengths_of(self.lengths), self.load_seed)
        return [Setup(self.shape, self.machine, policy, asked) for policy in self.policies()]

    def policies(self) -> list[Policy]:
        """Either policy with the same bounds."""
        return [Policy(name, self.at_once, 2048, self.chunk) for name in (self.first, self.second)]

    def linked(self) -> dict[str, str]:
        """As settings of a link."""
        return {"source": "simulated", **{name: str(value) for name, value in msgspec.structs.asdict(self).items()}}


def show_simulated(scene: Scene, settings: Mapping[str, str], key: str) -> None:
    """The choices, and what they lead to."""
    boxes = Boxes(asked_for(settings, Chosen), key)
    _choose(boxes)
    boxes.answered(_answer, scene)


def _answer(scene: Scene, boxes: Boxes[Chosen]) -> None:
    """The numbers of both policies side by side, and their steps. What is published belongs to the settings that the
    lesson gives, whatever a visitor chooses afterwards.
    """
    asked, chosen, key = boxes.asked, boxes.chosen, boxes.key
    if (base := _played(asked, f"{key}-base")) is not None:
        publish(scene, NAME, policy_results(base, asked.mine))
    both = base if chosen == asked else _played(chosen, key)
    if both is None:
        return
    clock = clock_of(what_if_shape(chosen.shape), chosen.machine)
    drawn = steps_figure(
        both, current_theme(), own=[chosen.mine], evidence="simulated",
        how=_("{model} on {machine}, {how}.").format(
            model=NAMES[chosen.shape], machine=clock.name, how=told(clock.how)
        ),
        title=_("The same requests under two policies"),
    )  # fmt: skip
    made(drawn)
    _cards(both, chosen.mine)
    show_drawn(drawn, NAME, scene, chosen.linked(), key)


def _played(chosen: Chosen, key: str) -> list[Playback] | None:
    setups = chosen.setups()
    played = simulated(setups, key)
    if played is None:
        return None
    return [
        playback_of(_heading(setup.policy), setup.policy, one, setup.arrivals)
        for setup, one in zip(setups, played, strict=True)
    ]


def _heading(policy: Policy) -> str:
    return policy_name(policy.name)


def _choose(boxes: Boxes[Chosen]) -> None:
    """The widgets, at first as the lesson has it."""
    asked = boxes.asked
    with st.grid(3, min_column_width=200, gap="small"):
        boxes.policy("first", _("Above"))
        boxes.policy("second", _("Below"))
        boxes.whole("mine", _("Your request is number"), 1, asked.requests)
    more = st.expander(_("The load and the machine"), key=f"{boxes.key}-more")
    with more, st.grid(3, min_column_width=170, gap="small"):
        boxes.model()
        boxes.machine()
        boxes.whole("at_once", _("At once, at most"), 1, 16)
        boxes.decimal("rate", _("Requests a second"), 0.1, 1000.0)
        boxes.whole("requests", _("Requests"), asked.mine, MOST_REQUESTS)
        boxes.lengths()
        boxes.whole("load_seed", _("Seed"), 0, 9999)


def policy_results(both: Sequence[Playback], mine: int) -> dict[str, float | int | None]:
    """What prose and questions may use of two policies on the same arrivals."""
    first, second = both
    return {
        "first_time": first.end_ns,
        "second_time": second.end_ns,
        "time_ratio": first.end_ns / second.end_ns if second.end_ns else None,
        "first_ttft": mean_ttft_ns(first),
        "second_ttft": mean_ttft_ns(second),
        "first_mine": first.ttft_ns(mine),
        "second_mine": second.ttft_ns(mine),
        "first_rate": first.tokens_per_s,
        "second_rate": second.tokens_per_s,
        "at_once": first.policy.max_running,
        "requests": len(first.arrivals),
    }


def mean_ttft_ns(one: Playback) -> float | None:
    """Over the requests that got a token."""
    waits = [wait for ticket in one.arrivals if (wait := one.ttft_ns(ticket)) is not None]
    return statistics.fmean(waits) if waits else None


def _cards(both: Sequence[Playback], mine: int) -> None:
    show_cards([Card(one.name, None, words=_in_short(one, mine)) for one in both], most=2, least_px=220)


def _in_short(one: Playback, mine: int) -> str:
    wait, own, rate = mean_ttft_ns(one), one.ttft_ns(mine), one.tokens_per_s
    said = _("all ended after **{end}** · **{rate}** tokens/s · mean first token after **{wait}** · ")
    said += _("yours after **{own}**")
    return said.format(
        end=milliseconds(one.end_ns),
        rate=significant(rate) if rate else "",
        wait=milliseconds(wait) if wait else "",
        own=milliseconds(own) if own else "",
    )
