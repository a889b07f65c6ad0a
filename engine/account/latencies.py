"""Latencies of many runs: overall, by how many shared a pass, by how many were there at arrival."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from engine.account.distribution import Bucket, Distribution, bucket_of, in_order
from engine.account.metrics import Timings
from engine.account.record import Queued, Run
from engine.account.told import Told, rate

CONCURRENCY_TOPS = (1, 2, 4, 8, 16, 32, 64)
"""Last numbers of the ranges of how many share a step, or are there."""


class Latencies(msgspec.Struct, frozen=True):
    """Distributions over finished runs: durations in nanoseconds, speeds in tokens a second as one request saw them."""

    queue_ns: Distribution
    prefill_ns: Distribution
    ttft_ns: Distribution
    itl_ns: Distribution
    """Over all gaps of all runs."""
    tpot_ns: Distribution
    e2e_ns: Distribution
    decode_step_ns: Distribution
    """Durations of decode passes as requests saw them: a step that four shared counts four times."""
    prompt_speed: Distribution
    """Prompt positions computed for the first time, over the prefill duration; what was reused does not count."""
    output_speed: Distribution
    """1 / TPOT."""


class Shared(msgspec.Struct, frozen=True):
    """Passes of one concurrency: how many requests took part in the step."""

    shared_by: Bucket
    decode_step_ns: Distribution
    itl_ns: Distribution
    """Gaps that ended with a token of such a pass."""


class InFlight(msgspec.Struct, frozen=True):
    """Requests by how many others were running or waiting when they arrived."""

    others: Bucket
    queue_ns: Distribution
    ttft_ns: Distribution


class Group(msgspec.Struct, frozen=True):
    """Some of the finished runs, summed up."""

    n: int
    latencies: Latencies
    by_shared: list[Shared]
    by_in_flight: list[InFlight]


def group(told: Sequence[Told]) -> Group:
    """Sum finished runs up."""
    return Group(len(told), _latencies(told), _by_shared(told), _by_in_flight(told))


def _latencies(told: Sequence[Told]) -> Latencies:
    times = [one.timings for one in told]
    return Latencies(
        queue_ns=_known(t.queue_ns for t in times),
        prefill_ns=_known(t.prefill_ns for t in times),
        ttft_ns=_known(t.ttft_ns for t in times),
        itl_ns=_known(gap for t in times for gap in t.itl_ns),
        tpot_ns=_known(t.tpot_ns for t in times),
        e2e_ns=_known(t.e2e_ns for t in times),
        decode_step_ns=_known(ns for one in told for _, ns in _decode_steps(one.run)),
        prompt_speed=_known(rate(one.work.prompt_positions, one.timings.prefill_ns) for one in told),
        output_speed=_known(t.output_tokens_per_s for t in times),
    )


def _by_shared(told: Sequence[Told]) -> list[Shared]:
    steps: dict[Bucket, list[int]] = {}
    gaps: dict[Bucket, list[int]] = {}
    for one in told:
        for shared_by, duration_ns in _decode_steps(one.run):
            steps.setdefault(bucket_of(shared_by, CONCURRENCY_TOPS), []).append(duration_ns)
        sharers = [each.shared_by for each in one.run.passes for _ in each.emitted]
        for shared_by, gap_ns in zip(sharers[1:], one.timings.itl_ns, strict=True):
            gaps.setdefault(bucket_of(shared_by, CONCURRENCY_TOPS), []).append(gap_ns)
    buckets = in_order({*steps, *gaps})
    return [Shared(b, Distribution.of(steps.get(b, [])), Distribution.of(gaps.get(b, []))) for b in buckets]


def _by_in_flight(told: Sequence[Told]) -> list[InFlight]:
    """The first `Queued` event tells how many were there at arrival; a run without one says nothing."""
    groups: dict[Bucket, list[Timings]] = {}
    for one in told:
        queued = next((event for event in one.run.events if isinstance(event, Queued)), None)
        if queued is not None:
            groups.setdefault(bucket_of(queued.ahead, (0, *CONCURRENCY_TOPS), 0), []).append(one.timings)
    return [
        InFlight(b, _known(t.queue_ns for t in groups[b]), _known(t.ttft_ns for t in groups[b]))
        for b in in_order(groups)
    ]


def _decode_steps(run: Run) -> list[tuple[int, int]]:
    return [(one.shared_by, one.end_ns - one.start_ns) for one in run.passes if one.phase == "decode"]


def _known(values: Iterable[float | None]) -> Distribution:
    return Distribution.of([value for value in values if value is not None])
