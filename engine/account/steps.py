"""Steps of the engine summed up, each counted once whoever shared it: the service seen from the engine's side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from engine.account.distribution import Bucket, Distribution, bucket_of, in_order
from engine.account.step_record import StepRow


class StepsOf(msgspec.Struct, frozen=True):
    """Steps with as many requests taking part, by what they did; durations in nanoseconds."""

    shared_by: Bucket
    decode_only_ns: Distribution
    with_prefill_ns: Distribution
    """At least one request's prompt, or a chunk of it, was in the step."""


class StepSummary(msgspec.Struct, frozen=True):
    """What the steps of a window did together."""

    n: int
    by_shared: list[StepsOf]
    tokens: Distribution
    """Tokens that went in, drafts included, a step."""
    planning_share: float | None
    """The scheduler's time as a share of all time that planning and steps took."""
    preemptions: int
    waits: dict[str, int]
    """Why requests took no part in a step: reason -> request-steps."""
    peak_pages: int
    peak_slots: int


def summarise_steps(steps: Sequence[StepRow], tops: Sequence[int]) -> StepSummary:
    """Sum up step rows; `tops` are the last numbers of the ranges of how many shared a step."""
    decoding: dict[Bucket, list[int]] = {}
    prefilling: dict[Bucket, list[int]] = {}
    for row in steps:
        kind = prefilling if any(share.phase == "prefill" for share in row.shares) else decoding
        kind.setdefault(bucket_of(len(row.shares), tops), []).append(row.end_ns - row.start_ns)
    planning = sum(row.planning_ns for row in steps)
    whole = planning + sum(row.end_ns - row.start_ns for row in steps)
    return StepSummary(
        n=len(steps),
        by_shared=[
            StepsOf(bucket, Distribution.of(decoding.get(bucket, [])), Distribution.of(prefilling.get(bucket, [])))
            for bucket in in_order({*decoding, *prefilling})
        ],
        tokens=Distribution.of([sum(share.n_tokens for share in row.shares) for row in steps]),
        planning_share=planning / whole if whole else None,
        preemptions=sum(len(row.preempted) for row in steps),
        waits=dict(Counter(wait.reason for row in steps for wait in row.waiting)),
        peak_pages=max((row.pages_used for row in steps), default=0),
        peak_slots=max((row.slots_used for row in steps), default=0),
    )
