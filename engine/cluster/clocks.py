"""Instants of one machine's clock on another's.

All processes of one machine share its monotonic clock, so there is nothing to do. Between machines the difference is
estimated from one question and its answer, as NTP does (Mills et al., RFC 5905): wrong by half the way there and back
at most, some tenths of a millisecond in one rack.
"""

from __future__ import annotations

import time
from functools import cache
from pathlib import Path
from typing import NamedTuple


class Reading(NamedTuple):
    """A monotonic clock, read: which start of which machine, None if that cannot be told, and nanoseconds."""

    boot: str | None
    ns: int

    @classmethod
    def now(cls) -> Reading:
        """This process's clock, the one that the engine uses."""
        return cls(_boot(), time.perf_counter_ns())


def offset_ns(asked: Reading, arrived: Reading, sent: Reading, received: Reading) -> int:
    """What to add to an instant of their clock (`arrived`, `sent`) to have it on ours (`asked`, `received`)."""
    if asked.boot is not None and asked.boot == arrived.boot:
        return 0
    return ((asked.ns - arrived.ns) + (received.ns - sent.ns)) // 2


@cache
def _boot() -> str | None:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return None
