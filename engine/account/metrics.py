"""The timings of one run, the way serving engines name them, computed from its passes and nothing else.

    arrival        first pass starts      first token          second  ...  last token
       |--- queue ---|------ prefill --------|---- gap 1 ----|---- ... ----|
       |--------------- TTFT ----------------|
       |------------------------------- E2E -------------------------------|

A token exists when the pass that emitted it ends. So TTFT = queue + prefill and E2E = TTFT + the sum of the inter-token
gaps hold exactly, in integer nanoseconds (law 5). Prompt and output speeds are two numbers, never one blended rate.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TypeVar

import msgspec

from engine.account.record import Pass, Run

_Number = TypeVar("_Number", int, float)


class Timings(msgspec.Struct, frozen=True):
    """Durations in nanoseconds, speeds in tokens a second; None where the run does not tell (yet)."""

    n_passes: int
    n_decode_passes: int
    queue_ns: int | None
    """From arrival to the start of the first pass."""
    prefill_ns: int | None
    """From the start of the first pass to the first token."""
    ttft_ns: int | None
    """Time to first token, from arrival."""
    itl_ns: tuple[int, ...]
    """Inter-token latencies: the gaps between one token and the next, N - 1 of them."""
    itl_p50_ns: int | None
    itl_p95_ns: int | None
    tpot_ns: float | None
    """Time per output token after the first: (last - first) / (N - 1); undefined for a single token."""
    e2e_ns: int | None
    """From arrival to the last token."""
    prompt_tokens_per_s: float | None
    """Prompt tokens over prefill time."""
    output_tokens_per_s: float | None
    """Tokens after the first over the time they took: 1 / TPOT."""


def timings(run: Run) -> Timings:
    """The timings of a run, finished or not."""
    passes = run.passes
    instants = [one.end_ns for one in passes for _ in one.emitted]
    gaps = tuple(later - earlier for earlier, later in itertools.pairwise(instants))
    queue_ns = passes[0].start_ns if passes else None
    prefill_ns = instants[0] - passes[0].start_ns if instants else None
    tpot_ns = (instants[-1] - instants[0]) / len(gaps) if gaps else None
    return Timings(
        n_passes=len(passes),
        n_decode_passes=sum(one.phase == "decode" for one in passes),
        queue_ns=queue_ns,
        prefill_ns=prefill_ns,
        ttft_ns=instants[0] if instants else None,
        itl_ns=gaps,
        itl_p50_ns=percentile(gaps, 50),
        itl_p95_ns=percentile(gaps, 95),
        tpot_ns=tpot_ns,
        e2e_ns=instants[-1] if instants else None,
        prompt_tokens_per_s=_per_second(_tokens_before_first(passes), prefill_ns),
        output_tokens_per_s=1e9 / tpot_ns if tpot_ns else None,
    )


def percentile(values: Sequence[_Number], percent: float) -> _Number | None:
    """The nearest-rank percentile: the smallest value that at least `percent` % of the values do not exceed.

    It is always a value that was measured, never one between two. None without values; say n beside it, since the 95th
    percentile of nine gaps is simply the longest.
    """
    if not values:
        return None
    rank = max(1, math.ceil(len(values) * percent / 100))
    return sorted(values)[rank - 1]


def _tokens_before_first(passes: Sequence[Pass]) -> int:
    """Tokens that went in up to and including the pass that emitted the first token: the prompt, in one chunk or
    several.
    """
    count = 0
    for one in passes:
        count += len(one.token_ids)
        if one.emitted:
            break
    return count


def _per_second(count: int, duration_ns: int | None) -> float | None:
    return count * 1e9 / duration_ns if duration_ns else None
