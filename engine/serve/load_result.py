"""What came of a load test: every request accounted for, the engine's own timing, and what the client saw.

The two timings differ, and are never mixed. The engine's are exact (a token exists when its pass ends). The client's
contain the way there and back, the server's gathering of events, and this program's own share of the processor.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from engine.account.distribution import Distribution
from engine.account.goodput import Limits
from engine.account.record import End, Run
from engine.account.service import ServiceReport, service_report
from engine.account.step_record import StepRow
from engine.account.told import FINISHED
from engine.serve.load_plan import Ask, LoadOptions, LoadPlan

Outcome = Literal["ran", "refused", "lost", "cut"]


@dataclass
class Sent:
    """One request as its sender saw it; instants in nanoseconds from the start of the test."""

    ask: Ask
    sent_ns: int
    outcome: Outcome = "cut"
    """ran: its log came to an end. refused: the engine said no. lost: the connection broke. cut: the test ended
    first.
    """
    reason: str = ""
    """The refusal's code, or what broke."""
    run: Run | None = None
    run_id: str | None = None
    ended_ns: int | None = None
    token_ns: list[int] = field(default_factory=list)
    """Arrivals at the client that carried tokens, each once, however many tokens came with it."""


class ClientView(msgspec.Struct, frozen=True):
    """Finished requests on the client's clock, in nanoseconds."""

    ttft_ns: Distribution
    """From sending to the first arrival with a token."""
    gap_ns: Distribution
    """Between arrivals that carried tokens; not an inter-token latency, since several tokens may arrive together."""
    e2e_ns: Distribution
    lag_ns: Distribution
    """Open loop: how much later than planned requests were sent. If this is not small, the generator was the limit."""


class LoadResult(msgspec.Struct, frozen=True):
    """A load test, whole or interrupted. sent = ran + refused + lost + cut."""

    options: LoadOptions
    planned: int | None
    """None where only the time decides."""
    cut_lengths: int
    """Requests sent whose lengths were cut to the model's context."""
    opening_tokens: int
    """Tokens of the beginnings that requests shared; 0 for none."""
    interrupted: bool
    sent: int
    ran: int
    refused: dict[str, int]
    lost: dict[str, int]
    cut: int
    cancelled_by_plan: int
    """Requests whose user was to leave early; some may have ended first."""
    window_ns: int
    """From the first sending to the last end, on the client's clock."""
    client: ClientView
    engine: ServiceReport
    """The engine's own timing of the same requests; its steps are all that it did meanwhile, for others, too."""
    steps_missing: int | None
    """Steps of the time that the engine no longer had when it was asked at the end; None without any."""


def summarise(
    plan: LoadPlan, sent: Sequence[Sent], steps: Sequence[StepRow] = (), first_step: int = 0, *,
    interrupted: bool = False, limits: Limits | None = None,
) -> LoadResult:  # fmt: skip
    """Sum up what was sent; `steps` are the engine's rows from number `first_step` on, as far as it has kept them."""
    outcomes = Counter(one.outcome for one in sent)
    refused = Counter(one.reason for one in sent if one.outcome == "refused")
    ends = [one.ended_ns for one in sent if one.ended_ns is not None]
    window_ns = max(ends) - min(one.sent_ns for one in sent) if ends else 0
    runs = [one.run for one in sent if one.run is not None]
    return LoadResult(
        options=plan.options,
        planned=plan.planned,
        cut_lengths=sum(one.ask.cut for one in sent),
        opening_tokens=plan.opening_tokens,
        interrupted=interrupted,
        sent=len(sent),
        ran=outcomes["ran"],
        refused=dict(refused),
        lost=dict(Counter(one.reason for one in sent if one.outcome == "lost")),
        cut=outcomes["cut"],
        cancelled_by_plan=sum(one.ask.leaves_after is not None for one in sent),
        window_ns=window_ns,
        client=_client_view(sent),
        engine=service_report(runs, steps, window_ns=window_ns or None, limits=limits, refused=refused.total()),
        steps_missing=steps[0].number - first_step if steps else None,
    )


def _client_view(sent: Sequence[Sent]) -> ClientView:
    whole = [one for one in sent if one.run is not None and _finished(one.run) and one.token_ns]
    return ClientView(
        ttft_ns=Distribution.of([one.token_ns[0] - one.sent_ns for one in whole]),
        gap_ns=Distribution.of([b - a for one in whole for a, b in itertools.pairwise(one.token_ns)]),
        e2e_ns=Distribution.of([one.token_ns[-1] - one.sent_ns for one in whole]),
        lag_ns=Distribution.of([one.sent_ns - one.ask.at_ns for one in sent if one.ask.at_ns is not None]),
    )


def _finished(run: Run) -> bool:
    return isinstance(run.end, End) and run.end.reason in FINISHED
