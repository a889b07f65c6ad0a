"""The same prompt with weights of 16 bits and with fewer: both texts, where they part, the odds there, and the pace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import streamlit as st

from engine.account.metrics import timings
from engine.account.record import Run, Serving, WeightFormat
from engine.loop.variant import split_variant
from lessons.filters import milliseconds
from views.cards import Card, show_cards
from views.compare_texts import Parting, texts_part
from views.evidence import source_line, timing_evidence
from views.instruments.frame import Frame, framed
from views.safe_text import plain, token_label
from views.scene import Scene
from views.second_run import other_of
from views.three_formats import BITS
from views.words import _

NAME = "texts"


def show(scene: Scene, settings: Mapping[str, str], key: str) -> None:
    """The run in view first, then the one with its weights in the other format."""
    assert scene.run is not None
    has_fewer = format_of(scene.run) != "bf16"
    wanted: WeightFormat = "bf16" if has_fewer else cast(WeightFormat, settings.get("fewer", "int4"))
    serving = Serving(weights=None if has_fewer else wanted)
    label = _("Run it again in {bits}").format(bits=BITS[wanted])
    other = other_of(scene, serving, label, key)
    if other is None:
        return
    exact, rounded = (other, scene.run) if has_fewer else (scene.run, other)
    parting = texts_part(exact, rounded)
    frame = Frame(
        _("What both wrote"), timing_evidence(scene.run, recorded=scene.recorded), _how(scene), table(exact, rounded)
    )
    with framed(frame, name=NAME, scene=scene, settings=settings, key=key):
        show_cards([_card(exact, parting.same, parting.first_rest), _card(rounded, parting.same, parting.second_rest)],
                   most=2, least_px=240, key=key)  # fmt: skip
        st.markdown(f"{parting.sentence} {_odds(parting)}")


def _how(scene: Scene) -> str:
    assert scene.run is not None
    told = _("The same prompt twice, one run after the other. The time is the median from one token to the next.")
    return f"{told} {source_line(scene.run, recorded=scene.recorded)}"


def _card(run: Run, same: str, rest: str) -> Card:
    """One text; the word with which it leaves the other is bold."""
    gap = timings(run).itl_p50_ns
    pace = _("{time} from token to token").format(time=milliseconds(gap)) if gap is not None else ""
    word, _space, after = rest.strip().partition(" ")
    left = f"**{plain(word)}** {plain(after)}" if word else ""
    return Card(bits_of(run), None, pace, words=f"{plain(same.strip())} {left}".strip())


def bits_of(run: Run) -> str:
    """How many bits its weights have, for people."""
    return BITS[format_of(run)]


def format_of(run: Run) -> WeightFormat:
    """The format of its weights; the model's name says it."""
    return split_variant(run.header.model.name)[1]


def _odds(parting: Parting) -> str:
    if parting.first_odds is None or parting.second_odds is None:
        return ""
    return _("Its own choice there had {one} in the first and {other} in the second.").format(
        one=f"{parting.first_odds:.1%}", other=f"{parting.second_odds:.1%}"
    )


def table(exact: Run, rounded: Run) -> dict[str, list[object]]:
    """Token by token, with the odds that each run gave its own; blank beyond the end of the shorter one."""
    n = max(len(exact.emissions), len(rounded.emissions))
    columns: dict[str, list[object]] = {_("new token"): list(range(1, n + 1))}
    for run in (exact, rounded):
        padded = [*run.emissions, *[None] * (n - len(run.emissions))]
        columns[bits_of(run)] = [token_label(one.token.text) if one else "" for one in padded]
        odds = [one.odds if one else None for one in padded]
        columns[_("its odds, {bits}").format(bits=bits_of(run))] = [None if p is None else round(p, 4) for p in odds]
    return columns
