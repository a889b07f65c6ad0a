"""The runs that the server knows: live ones, and the last finished ones for whoever comes back to them.

A run that a page started belongs to its viewers: when nobody has its event stream open for a while, it is cancelled,
since the machine is the scarce thing. Finished runs are kept up to a number of runs and of events; the oldest go first.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from engine.account.record import Run
from engine.loop.run_log import RunLog

PATIENCE_S = 60.0
"""How long a run goes on that nobody watches."""
KEEP_RUNS = 256
KEEP_EVENTS = 50_000
"""Bounds on the finished runs in memory; an event with its odds is a few kilobytes."""


@dataclass
class _Entry:
    log: RunLog
    needs_viewers: bool
    unwatched_since: float
    viewers: int = 0


class RunRegistry:
    """Run id -> log. For the event loop's thread only; nothing here waits."""

    def __init__(
        self,
        on_end: Callable[[Run], None] = lambda run: None,
        *,
        patience_s: float = PATIENCE_S,
        keep_runs: int = KEEP_RUNS,
        keep_events: int = KEEP_EVENTS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._on_end = on_end
        self._patience_s = patience_s
        self._keep_runs = keep_runs
        self._keep_events = keep_events
        self._clock = clock
        self._live: dict[str, _Entry] = {}
        self._finished: dict[str, _Entry] = {}

    def add(self, log: RunLog, *, needs_viewers: bool) -> None:
        """Take in a run that was just submitted; with `needs_viewers` it is cancelled once nobody watches it."""
        self._live[log.run_id] = _Entry(log, needs_viewers, self._clock())

    def find(self, run_id: str) -> RunLog | None:
        """The log, live or finished, or None if it was never here or has been dropped."""
        entry = self._live.get(run_id) or self._finished.get(run_id)
        return entry.log if entry else None

    @contextmanager
    def watched(self, log: RunLog) -> Iterator[None]:
        """Count one viewer of this run for as long as the context lasts."""
        entry = self._live.get(log.run_id) or self._finished.get(log.run_id)
        if entry is None:
            yield
            return
        entry.viewers += 1
        try:
            yield
        finally:
            entry.viewers -= 1
            entry.unwatched_since = self._clock()

    def sweep(self) -> None:
        """Settle what has ended, cancel what nobody watches, drop the oldest; called often, and before a scrape."""
        now = self._clock()
        for run_id, entry in list(self._live.items()):
            if entry.log.ended:
                self._finished[run_id] = self._live.pop(run_id)
                self._on_end(entry.log.run)
            elif entry.needs_viewers and not entry.viewers and now - entry.unwatched_since > self._patience_s:
                entry.log.cancel()
        self._drop_oldest()

    def _drop_oldest(self) -> None:
        events = sum(len(entry.log) for entry in self._finished.values())
        for run_id, entry in list(self._finished.items()):
            fits = len(self._finished) <= self._keep_runs and events <= self._keep_events
            if fits or len(self._finished) == 1:
                return
            events -= len(entry.log)
            del self._finished[run_id]
