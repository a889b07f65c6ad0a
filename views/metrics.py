"""The run's timings as cards: waits, gaps and speeds apart, each saying how it was made and of how many values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from engine.account.metrics import Timings, timings
from engine.account.record import Run
from lessons.filters import milliseconds, significant
from views.conditions import Condition, condition
from views.evidence import LABELS, MEANINGS, Evidence, labelled, source_line, timing_evidence
from views.words import N_, _


@dataclass(frozen=True)
class Reading:
    """One number with what belongs to it. `value` is None where there is nothing to say, and `reason` says why."""

    id: str
    label: str
    value: str | None
    how: str
    n: int | None = None
    """How many values a statistic is taken over; None for a single measurement."""
    reason: str = ""


def readings(run: Run) -> list[Reading]:
    """Every timing of a run, in the order of a person's wait."""
    measured = timings(run)
    return [*_waits(measured), *_gaps(measured), *_speeds(measured)]


def show_metrics(run: Run, *, recorded: bool, key: str) -> None:
    """Draw the cards of a run that has ended or has been stopped."""
    kind = timing_evidence(run, recorded=recorded)
    show_readings(readings(run), kind, source_line(run, recorded=recorded), key=key, found=condition(run))


def show_readings(
    told: Sequence[Reading], kind: Evidence, source: str, *, key: str, found: Condition | None = None
) -> None:
    """Draw numbers as cards, all of one evidence, one source (Markdown), and taken under one condition."""
    with st.grid(4, min_column_width=150, gap="small", key=f"metrics-{key}"):
        for reading in told:
            _card(reading, kind, source, key, found)


def _card(reading: Reading, kind: Evidence, source: str, key: str, found: Condition | None) -> None:
    with st.container(border=True, height="stretch", gap="xsmall", key=f"metric-{key}-{reading.id}"):
        # A metric cuts its own label short where it is too long; words above it wrap.
        st.markdown(f":small[{reading.label}]")
        st.metric(reading.label, reading.value if reading.value is not None else " ", label_visibility="collapsed")
        n = _("n = {n}").format(n=reading.n) + " · " if reading.n else ""
        st.caption(reading.reason if reading.value is None else f"{n}{labelled(kind, found)}")
        with st.popover(_("How?"), type="tertiary", key=f"how-{key}-{reading.id}"):
            said = [f"**{LABELS[kind].capitalize()}.** {MEANINGS[kind]}", found.meaning if found else "", reading.how]
            st.markdown("\n\n".join([*filter(None, said), source]))


def _waits(measured: Timings) -> list[Reading]:
    return [
        Reading(
            "queue", _("Queue"), _ms(measured.queue_ns), reason=_(_NOT_STARTED),
            how=_("From the request's arrival at the engine to the start of its first pass."),
        ),
        Reading(
            "ttft", _("Time to first token"), _ms(measured.ttft_ns), reason=_(_NO_TOKEN),
            how=_("From arrival to the end of the pass that gave the first token: queue plus prefill."),
        ),
    ]  # fmt: skip


def _gaps(measured: Timings) -> list[Reading]:
    n = len(measured.itl_ns)
    return [
        Reading(
            "itl-p50", _("Inter-token latency, p50"), _ms(measured.itl_p50_ns), n=n, reason=_(_ONE_TOKEN),
            how=_("Inter-token latency, from one token to the next: half of the {n} gaps were no longer.").format(n=n),
        ),
        Reading(
            "itl-p95", _("Inter-token latency, p95"), _ms(measured.itl_p95_ns), n=n, reason=_(_ONE_TOKEN),
            how=_("The gap that 95 of 100 do not exceed, by nearest rank. Under 20 gaps it is simply the longest."),
        ),
        Reading(
            "tpot", _("Time per output token"), _ms(measured.tpot_ns), n=n, reason=_(_ONE_TOKEN),
            how=_("TPOT: (last token − first token) ÷ the number of tokens after the first, which is not in it."),
        ),
    ]  # fmt: skip


def _speeds(measured: Timings) -> list[Reading]:
    return [
        Reading(
            "prompt-rate", _("Prompt tokens/s"), _rate(measured.prompt_tokens_per_s), reason=_(_NO_TOKEN),
            how=_("Prompt tokens ÷ prefill time. It says nothing about how fast the reply comes."),
        ),
        Reading(
            "output-rate", _("Output tokens/s"), _rate(measured.output_tokens_per_s), n=len(measured.itl_ns),
            reason=_(_ONE_TOKEN), how=_("Tokens after the first ÷ the time from the first to the last: 1 ÷ TPOT."),
        ),
    ]  # fmt: skip


_NOT_STARTED = N_("not started")
_NO_TOKEN = N_("no token came")
_ONE_TOKEN = N_("needs a second token")


def _ms(value_ns: float | None) -> str | None:
    return None if value_ns is None else milliseconds(value_ns)


def _rate(value: float | None) -> str | None:
    return None if value is None else significant(value)
