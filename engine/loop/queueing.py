"""The line as those who wait see it: their place, and how long it should take, from what was measured so far.

A request gets in when one before it leaves. Nobody knows when a text ends, but everybody has said how many tokens it
may have at most: so the tokens that those before it may still write are counted, step by step, and taken at the pace
of the last finished runs. Texts that end early make the wait shorter than that, a fuller batch longer.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from engine.loop import sequence as sequences
from engine.loop.scheduler import Scheduler

N_SERVED = 32
"""How many finished runs the pace is taken from, at most."""
LEAST_SERVED = 3
"""With fewer, nothing is said of the wait."""


class Served:
    """The pace of the last finished runs."""

    def __init__(self) -> None:
        self._runs: deque[tuple[int, int]] = deque(maxlen=N_SERVED)

    def note(self, duration_ns: int, n_new: int) -> None:
        """A run has ended by itself: from joining the batch to its last token, and how many tokens it got."""
        self._runs.append((duration_ns, n_new))

    @property
    def n(self) -> int:
        """How many runs stand behind the pace."""
        return len(self._runs)

    @property
    def ns_per_token(self) -> float | None:
        """Mean time a token, the prompt's share in it; None while too few runs have ended."""
        if self.n < LEAST_SERVED:
            return None
        durations, tokens = zip(*self._runs, strict=True)
        return sum(durations) / sum(tokens)


class Reserved(NamedTuple):
    """The engine is reserved until then, on its own clock; and by the wall clock, ISO 8601 in UTC, for people."""

    until_ns: int
    until: str


class Place(NamedTuple):
    """What one who waits is told."""

    ahead: int
    """Requests before it, running ones included."""
    number: int
    """Its place among those that wait, from 1."""
    expected_wait_ns: int | None
    """None without a basis."""
    estimated_from: int | None
    """The number of finished runs that the estimate is made of."""
    reserved_until: str | None
    """Until when it is held back; None if it is not."""


def places(
    scheduler: Scheduler, served: Served, reserved: Reserved | None, now_ns: int
) -> Iterator[tuple[sequences.Sequence, Place]]:
    """Everyone who waits, in order, with what to tell."""
    line = scheduler.waiting()
    if not line:
        return  # as most of the time, and between two steps every microsecond counts
    pace = served.ns_per_token
    left = [_left(sequence) for sequence in scheduler.running]
    count = steps_until_next_batch if scheduler.policy.name == "static" else steps_until_in
    steps = count(left, [_left(sequence) for sequence, _ in line], scheduler.places)
    held_ns = max(0, reserved.until_ns - now_ns) if reserved else 0
    for number, ((sequence, ahead), n_steps) in enumerate(zip(line, steps, strict=True), 1):
        wait_ns = None if pace is None else round(n_steps * pace) + (held_ns if sequence.held else 0)
        until = reserved.until if reserved and sequence.held else None
        yield sequence, Place(ahead, number, wait_ns, None if pace is None else served.n, until)


def steps_until_in(running: Sequence[int], waiting: Sequence[int], n_places: int) -> list[int]:
    """After how many steps each of those who wait gets a place, if everybody writes all the tokens that it may.

    `running` and `waiting` are tokens still to write.
    """
    ends = list(running)
    heapq.heapify(ends)
    found = []
    for n_tokens in waiting:
        entry = heapq.heappop(ends) if len(ends) >= max(1, n_places) else 0
        found.append(entry)
        heapq.heappush(ends, entry + n_tokens)
    return found


def steps_until_next_batch(running: Sequence[int], waiting: Sequence[int], n_places: int) -> list[int]:
    """The same where nobody joins before a whole batch has ended."""
    entry = max(running, default=0)
    found = []
    for first in range(0, len(waiting), n_places):
        batch = waiting[first : first + n_places]
        found += [entry] * len(batch)
        entry += max(batch)
    return found


def _left(sequence: sequences.Sequence) -> int:
    return max(1, sequence.max_new_tokens - sequence.n_new)
