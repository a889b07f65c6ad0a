"""A run in a line: when, of which model, how its prompt begins, and its main figures."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo

import streamlit as st

from engine.account.metrics import timings
from engine.account.outside_record import AnyRun, OutsideRun
from engine.account.outside_timings import outside_timings
from engine.account.record import End, Error, Serving
from lessons.filters import milliseconds, significant
from views.conditions import condition
from views.recordings_found import Chosen, lessons_of
from views.safe_text import one_line
from views.words import _, ngettext

LONGEST_BEGINNING = 48
"""Characters of a prompt that a list shows."""


@dataclass(frozen=True)
class Row:
    """What a list shows of one run; a figure that it does not have is None."""

    ref: str
    begins: str
    when: str
    model: str
    passes: int | None
    ttft_ns: int | None
    tokens_per_s: float | None
    notes: tuple[str, ...]
    """How it was served, in whose company, how it ended: as far as that is worth a word."""
    lessons: tuple[str, ...] = ()
    """Which lessons show it, in words, if any does."""

    @property
    def facts(self) -> str:
        """Everything but the prompt, as one line of plain text."""
        told = [*self.lessons, self.when, one_line(self.model)]
        if self.passes is not None:
            told.append(ngettext("{n} pass", "{n} passes", self.passes).format(n=self.passes))
        if self.ttft_ns is not None:
            told.append(_("first token after {time}").format(time=milliseconds(self.ttft_ns)))
        if self.tokens_per_s is not None:
            told.append(_("{rate} tokens/s").format(rate=significant(self.tokens_per_s)))
        return " · ".join([*told, *self.notes])


def row_of(chosen: Chosen) -> Row:
    """Sum a run up."""
    run = chosen.run
    common = (chosen.ref, begins(run), when(run))
    if isinstance(run, OutsideRun):
        seen = outside_timings(run)
        notes = (_("from outside"), *_ending(run))
        return Row(*common, run.header.model, None, seen.ttft_ns, seen.output_tokens_per_s, notes)
    told = timings(run)
    found = condition(run)
    notes = (*served(run.header.serving), *([found.label] if found else []), *_ending(run))
    figures = (told.n_passes, told.ttft_ns, told.output_tokens_per_s)
    return Row(*common, run.header.model.name, *figures, notes, _shown_in(chosen))


def begins(run: AnyRun) -> str:
    """The prompt's first words, on one line."""
    prompt = one_line(" ".join(run.header.prompt.split()))
    if not prompt:
        return _("(a prompt without words)")
    return prompt if len(prompt) <= LONGEST_BEGINNING else f"{prompt[: LONGEST_BEGINNING - 1].rstrip()}…"


def when(run: AnyRun) -> str:
    """Date and minute by the clock of whoever looks, or in UTC where that is not known."""
    made = datetime.fromisoformat(run.header.created)
    zone = _zone()
    return f"{made.astimezone(zone or UTC):%Y-%m-%d %H:%M}" + ("" if zone else " UTC")


def served(serving: Serving) -> list[str]:
    """How the run was served, where that was not as usual."""
    told = []
    if serving.cache == "recomputed":
        told.append(_("nothing kept"))
    if serving.drafts != "none":
        told.append(_("{n} tokens guessed ahead").format(n=serving.n_drafts))
    if serving.reuse_prefix:
        told.append(_("may reuse a prefix"))
    if serving.weights is not None:
        told.append(_("weights in {format}").format(format=serving.weights))
    return told


def _shown_in(chosen: Chosen) -> tuple[str, ...]:
    numbers = lessons_of(chosen.ref.removeprefix("example.")) if chosen.origin == "example" else []
    if not numbers:
        return ()
    return (ngettext("lesson {each}", "lessons {each}", len(numbers)).format(each=", ".join(map(str, numbers))),)


def _ending(run: AnyRun) -> list[str]:
    end = run.end
    if isinstance(end, Error):
        return [_("failed")]
    if isinstance(end, End):
        return [_("stopped early")] if end.reason == "cancelled" else []
    return [_("still running")]


def _zone() -> tzinfo | None:
    name = st.context.timezone
    try:
        return ZoneInfo(name) if name else None
    except (ValueError, OSError, KeyError):  # a name that this system's table does not have
        return None
