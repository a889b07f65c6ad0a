"""Who was served well enough, and the worst that anyone got: what a mean hides.

Goodput: requests a second that met both limits, on TTFT and on TPOT (DistServe, Zhong et al., arXiv 2401.09670). A user
who starved and left has no TTFT at all, so that waits which never ended count, too.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from engine.account.record import Header, Pass, Run
from engine.account.told import Told, rate


class Limits(msgspec.Struct, frozen=True):
    """What counts as served well enough, in nanoseconds. The defaults are a reader's: a second to begin, and then
    faster than anyone reads aloud (a token every 100 ms).
    """

    ttft_ns: int = 1_000_000_000
    tpot_ns: int = 100_000_000


class Goodput(msgspec.Struct, frozen=True):
    """Who was served within both limits. `judged` leaves out who left, or is still here, before a limit had passed."""

    limits: Limits
    judged: int
    good: int
    share: float | None
    good_per_s: float | None


class Starved(msgspec.Struct, frozen=True):
    """The worst that anyone got, in nanoseconds, whoever's mean it hides in."""

    worst_ttft_ns: int | None
    worst_ttft_run: str | None
    worst_gap_ns: int | None
    worst_gap_run: str | None
    beyond_ttft: int
    """Runs whose first token came after the limit, or not at all although the limit had passed."""
    beyond_ttft_share: float | None
    """Of all runs."""
    never_served: int
    """Runs without any token: cancelled, failed or still waiting."""
    longest_unserved_ns: int | None
    """How long the most patient of these is known to have waited."""


def goodput(told: Sequence[Told], limits: Limits, refused: int, window_ns: int | None) -> Goodput:
    """Judge every run, and every refusal as a miss."""
    verdicts = [verdict for one in told if (verdict := _verdict(one, limits)) is not None] + [False] * refused
    good, judged = sum(verdicts), len(verdicts)
    return Goodput(limits, judged, good, good / judged if judged else None, rate(good, window_ns))


def _verdict(one: Told, limits: Limits) -> bool | None:
    """Whether a run was served well; None if it left or goes on before that was decided."""
    if _beyond(one, limits):
        return False
    if one.finished:
        return one.timings.tpot_ns is None or one.timings.tpot_ns <= limits.tpot_ns
    return None if one.ending in ("cancelled", "unfinished") else False


def _beyond(one: Told, limits: Limits) -> bool:
    waited_ns = one.timings.ttft_ns if one.timings.ttft_ns is not None else _last_seen_ns(one.run)
    return waited_ns is not None and waited_ns > limits.ttft_ns


def starved(told: Sequence[Told], limits: Limits) -> Starved:
    """Find the worst, over all runs however they ended."""
    firsts = [(one.timings.ttft_ns, one.run.header.run_id) for one in told if one.timings.ttft_ns is not None]
    gaps = [(max(one.timings.itl_ns), one.run.header.run_id) for one in told if one.timings.itl_ns]
    unserved = [one.run for one in told if one.timings.ttft_ns is None]
    waits = [waited for run in unserved if (waited := _last_seen_ns(run)) is not None]
    ttft_ns, ttft_run = max(firsts, default=(None, None))
    gap_ns, gap_run = max(gaps, default=(None, None))
    beyond = sum(_beyond(one, limits) for one in told)
    share = beyond / len(told) if told else None
    return Starved(ttft_ns, ttft_run, gap_ns, gap_run, beyond, share, len(unserved), max(waits, default=None))


def _last_seen_ns(run: Run) -> int | None:
    """The last instant that the log tells of."""
    last = run.events[-1]
    if isinstance(last, Header):
        return None
    return last.end_ns if isinstance(last, Pass) else last.at_ns
