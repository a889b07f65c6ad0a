"""The timings of a run seen from outside.

A serving engine may send several tokens in one chunk, so gaps are gaps between chunks; time per output token needs the
server's own count. The definitions are those of the usual serving benchmarks: TTFT to the first chunk with text, TPOT
the time from first to last chunk over the tokens after the first.
"""

from __future__ import annotations

import itertools

import msgspec

from engine.account.metrics import percentile
from engine.account.outside_record import OutsideRun


class OutsideTimings(msgspec.Struct, frozen=True):
    """Nanoseconds and tokens a second, network included; None where it cannot be known."""

    n_chunks: int
    prompt_tokens: int | None
    """As the server counts them, its chat template included."""
    new_tokens: int | None
    ttft_ns: int | None
    gaps_ns: tuple[int, ...]
    """From one chunk to the next."""
    gap_p50_ns: int | None
    gap_p95_ns: int | None
    tpot_ns: float | None
    """(last chunk - first chunk) / (new tokens - 1). Too short if the first chunk held several of the tokens."""
    e2e_ns: int | None
    """To the last chunk."""
    output_tokens_per_s: float | None

    @property
    def one_token_each(self) -> bool:
        """Whether every chunk was one token, so that its gaps are inter-token latencies."""
        return self.n_chunks > 0 and self.n_chunks == self.new_tokens


def outside_timings(run: OutsideRun) -> OutsideTimings:
    """The timings of a run, finished or not."""
    instants = [chunk.at_ns for chunk in run.chunks]
    gaps = tuple(later - earlier for earlier, later in itertools.pairwise(instants))
    counted = run.counted
    new_tokens = counted.new_tokens if counted else None
    tpot_ns = (instants[-1] - instants[0]) / (new_tokens - 1) if gaps and new_tokens and new_tokens > 1 else None
    return OutsideTimings(
        n_chunks=len(instants),
        prompt_tokens=counted.prompt_tokens if counted else None,
        new_tokens=new_tokens,
        ttft_ns=instants[0] if instants else None,
        gaps_ns=gaps,
        gap_p50_ns=percentile(gaps, 50),
        gap_p95_ns=percentile(gaps, 95),
        tpot_ns=tpot_ns,
        e2e_ns=instants[-1] if instants else None,
        output_tokens_per_s=1e9 / tpot_ns if tpot_ns else None,
    )
