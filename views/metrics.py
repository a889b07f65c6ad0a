"""The run's timings as cards: waits, gaps and speeds apart, each saying how it was made and of how many values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.account.metrics import Timings, timings
from engine.account.record import Run
from lessons.filters import milliseconds, significant
from views.cards import Card, show_cards
from views.conditions import Condition, condition
from views.evidence import Evidence, how_told, labelled, source_line, timing_evidence
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
    show_cards([_card(reading, kind, source, found) for reading in told], key=f"metric-{key}", most=4)


def _card(reading: Reading, kind: Evidence, source: str, found: Condition | None) -> Card:
    n = _("n = {n}").format(n=reading.n) + " · " if reading.n else ""
    note = reading.reason if reading.value is None else f"{n}{labelled(kind, found)}"
    return Card(reading.label, reading.value, note, f"{how_told(kind, reading.how, found)}\n\n{source}")


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
