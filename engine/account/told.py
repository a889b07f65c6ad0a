"""A run with what is computed from it, once, and the words for how it ended."""

from __future__ import annotations

import msgspec

from engine.account.metrics import Timings, timings
from engine.account.record import Error, Run
from engine.account.work import Work, work

FINISHED = ("stop", "length")


class Told(msgspec.Struct, frozen=True):
    """A run, its timings and its work."""

    run: Run
    timings: Timings
    work: Work

    @classmethod
    def of(cls, run: Run) -> Told:
        """Compute them."""
        return cls(run, timings(run), work(run))

    @property
    def ending(self) -> str:
        """stop, length, cancelled, an error's code, or "unfinished"."""
        end = self.run.end
        if isinstance(end, Error):
            return end.code
        return "unfinished" if end is None else end.reason

    @property
    def finished(self) -> bool:
        """Whether it came to its own end: only then do its latencies stand for the service."""
        return self.ending in FINISHED


def rate(count: int, duration_ns: int | None) -> float | None:
    """Count a second; None without a duration."""
    return count * 1e9 / duration_ns if duration_ns else None
