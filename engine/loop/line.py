"""The line before an engine: who waits, at which place, and whoever has reserved it for a while.

Not locked: its engine calls it under its own lock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import msgspec

from engine.loop.live_run import LiveRun
from engine.loop.queueing import Place, Reserved, Served, places
from engine.loop.scheduler import BatchRow, Scheduler
from engine.loop.sequence import Sequence


class Line:
    """Everybody who waits, and what they are told."""

    def __init__(self, scheduler: Scheduler, live: Mapping[str, LiveRun], clock: Callable[[], int]) -> None:
        """`live` are the engine's runs by id, waiting ones among them."""
        self.served = Served()
        self.reserved: Reserved | None = None
        self._scheduler, self._live, self._clock = scheduler, live, clock

    def tell(self) -> None:
        """Write to everybody who waits where they stand now, if that is news."""
        now = self._clock()
        for sequence, place in self._places():
            self._live[sequence.run_id].moved(place, now)

    def rows(self) -> list[BatchRow]:
        """The live rows, running first, then waiting in order, each with its place."""
        told = {sequence.ticket: place for sequence, place in self._places()}
        return [_with_place(row, told.get(row.ticket)) for row in self._scheduler.rows()]

    def reserve(self, reserved: Reserved) -> None:
        """From now on, let only requests of the lane join, after all who are here already; see the scheduler."""
        self.reserved = reserved
        self._scheduler.reserve()

    def release(self) -> None:
        """The reservation is over: who was held goes on. Idempotent."""
        self.reserved = None
        self._scheduler.release()
        self.tell()

    def _places(self) -> Iterator[tuple[Sequence, Place]]:
        return places(self._scheduler, self.served, self.reserved, self._clock())


def _with_place(row: BatchRow, place: Place | None) -> BatchRow:
    if place is None:
        return row
    return msgspec.structs.replace(
        row, place=place.number, expected_wait_ns=place.expected_wait_ns, estimated_from=place.estimated_from
    )
