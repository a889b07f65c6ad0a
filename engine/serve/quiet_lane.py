"""The quiet lane: the engine reserved for one person's timing experiment, for two minutes at most.

Whoever reserves gets a key. Runs that come with it have the engine to themselves, once those that were there before
have ended; all others wait meanwhile. It ends by itself, so nobody can forget it, and cannot be prolonged: who was held
is in line before whoever reserves next (`engine.loop.scheduler`).
"""

from __future__ import annotations

import asyncio
import secrets
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from engine.loop.queueing import Reserved
from engine.serve import wire
from engine.serve.faults import Refused

if TYPE_CHECKING:
    from engine.loop.engine import Engine


class QuietLane:
    """At most one reservation at a time. For the event loop's thread only."""

    def __init__(self) -> None:
        self._key: str | None = None
        self._reserved: Reserved | None = None
        self._engines: list[Engine] = []
        self._timer: asyncio.TimerHandle | None = None

    @property
    def until(self) -> str | None:
        """Wall clock, ISO 8601 in UTC, at which the reservation ends at the latest; None if there is none."""
        return self._reserved.until if self._reserved else None

    def reserve(self, seconds: float, engines: list[Engine]) -> wire.Reservation:
        """Reserve these engines; raises Refused (409) if somebody has."""
        if self._reserved is not None:
            raise Refused(409, "reserved", "The engine is reserved already. A reservation ends by itself.")
        ends = datetime.now(UTC) + timedelta(seconds=seconds)
        # The engine's own clock; see engine.loop.engine.
        until_ns = time.perf_counter_ns() + round(seconds * 1e9)
        self._reserved = Reserved(until_ns, ends.isoformat(timespec="milliseconds"))
        self._key = secrets.token_hex(16)
        for engine in engines:
            self.cover(engine)
        self._timer = asyncio.get_running_loop().call_later(seconds, self.end)
        return wire.Reservation(self._key, self._reserved.until)

    def cover(self, engine: Engine) -> None:
        """Reserve an engine that was loaded meanwhile, too."""
        if self._reserved is not None and engine not in self._engines:
            engine.reserve(self._reserved)
            self._engines.append(engine)

    def admits(self, key: str | None) -> bool:
        """Whether a run with this key belongs to the lane; raises Refused (409) if the lane of that key is over."""
        if key is None:
            return False
        if not self._fits(key):
            raise Refused(
                409, "reservation_over", "The reservation is over. Reserve the engine again, or run as usual."
            )
        return True

    def give_back(self, key: str) -> None:
        """End the reservation of this key; one that is over needs no ending."""
        if self._fits(key):
            self.end()

    def end(self) -> None:
        """Everybody goes on. Idempotent."""
        if self._timer is not None:
            self._timer.cancel()
        engines, self._engines = self._engines, []
        self._key = self._reserved = self._timer = None
        for engine in engines:
            engine.release()

    def _fits(self, key: str) -> bool:
        given = key.encode(errors="replace")
        return self._key is not None and secrets.compare_digest(given, self._key.encode())
