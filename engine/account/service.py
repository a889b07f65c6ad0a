"""How a service did: many runs summed up by prompt length and by concurrency, and what each user got of it.

Two kinds of speed, never one number. A throughput is what the whole service did: tokens over the wall time of a window.
A speed is what one request saw. Latencies are those of finished runs alone; whoever was cancelled or failed is counted
by how it ended. A mean hides the one user who starved, so the worst is named, and the share beyond a limit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from engine.account.distribution import Bucket, bucket_of, in_order
from engine.account.goodput import Goodput, Limits, Starved, goodput, starved
from engine.account.latencies import CONCURRENCY_TOPS, Group, group
from engine.account.record import Run
from engine.account.step_record import StepRow
from engine.account.steps import StepSummary, summarise_steps
from engine.account.told import Told, rate
from engine.account.work import Work

PROMPT_TOPS = (32, 128, 512, 2048, 8192)
"""Last numbers of the ranges of prompt lengths, in tokens."""


class ByLength(msgspec.Struct, frozen=True):
    """The finished runs of one range of prompt lengths, in tokens."""

    prompt_tokens: Bucket
    group: Group


class Throughput(msgspec.Struct, frozen=True):
    """What the service did in the window, over all runs however they ended; rates are None without a window."""

    window_ns: int | None
    prompt_tokens_per_s: float | None
    """Positions computed for the first time; nothing that was reused, nothing that was computed again."""
    output_tokens_per_s: float | None
    finished_per_s: float | None


class ServiceReport(msgspec.Struct, frozen=True):
    """A service over a window."""

    n_runs: int
    evidence: list[str]
    """How the times came about, of all runs: measured, simulated."""
    endings: dict[str, int]
    """How many ended how: stop, length, cancelled, error code; "unfinished" for those that still run."""
    refused: int
    finished: Group
    by_length: list[ByLength]
    work: Work
    throughput: Throughput
    goodput: Goodput
    starved: Starved
    steps: StepSummary | None
    """The same from the engine's side, each step counted once; None without step rows."""


def service_report(
    runs: Sequence[Run], steps: Sequence[StepRow] = (), *,
    window_ns: int | None = None, limits: Limits | None = None, refused: int = 0,
) -> ServiceReport:  # fmt: skip
    """Sum runs up. `window_ns` is the wall time that they took together; without it that of the steps is taken.

    `refused` counts requests that the engine never took: they have no run, and no claim to be served well.
    """
    told = [Told.of(run) for run in runs]
    finished = [one for one in told if one.finished]
    if window_ns is None and steps:
        window_ns = steps[-1].end_ns - (steps[0].start_ns - steps[0].planning_ns)
    done = sum((one.work for one in told), Work())
    limits = limits or Limits()
    return ServiceReport(
        n_runs=len(told),
        evidence=sorted({one.run.header.evidence for one in told}),
        endings=dict(Counter(one.ending for one in told)),
        refused=refused,
        finished=group(finished),
        by_length=_by_length(finished),
        work=done,
        throughput=_throughput(done, len(finished), window_ns),
        goodput=goodput(told, limits, refused, window_ns),
        starved=starved(told, limits),
        steps=summarise_steps(steps, CONCURRENCY_TOPS) if steps else None,
    )


def _by_length(told: Sequence[Told]) -> list[ByLength]:
    groups: dict[Bucket, list[Told]] = {}
    for one in told:
        groups.setdefault(bucket_of(len(one.run.header.prompt_tokens), PROMPT_TOPS), []).append(one)
    return [ByLength(bucket, group(groups[bucket])) for bucket in in_order(groups)]


def _throughput(done: Work, n_finished: int, window_ns: int | None) -> Throughput:
    return Throughput(
        window_ns,
        rate(done.prompt_positions, window_ns),
        rate(done.output_tokens, window_ns),
        rate(n_finished, window_ns),
    )
