"""The last few thousand step rows of an engine. One thread adds, any may read."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

from engine.account.record import Phase
from engine.account.step_record import Share, StepRow, Wait
from engine.loop.result import Result
from engine.loop.room import Usage
from engine.loop.sequence import StepPlan

N_KEPT = 4096


class _Note(NamedTuple):
    """A step as noted between two steps; the row is written when somebody asks."""

    number: int
    waiting: list[Wait]
    n_queued: int
    preempted: list[int]
    parts: list[tuple[int, Phase, int, int, int]]
    usage: Usage
    planning_ns: int
    start_ns: int
    end_ns: int


class StepLog:
    """Rows by number; the oldest are dropped."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self._opened_ns = clock()
        self._notes: deque[_Note] = deque(maxlen=N_KEPT)
        self._count = 0
        self._lock = threading.Lock()

    @property
    def count(self) -> int:
        """Steps since the engine was made."""
        return self._count

    @property
    def opened_ns(self) -> int:
        """Where the rows' clock begins, on the engine's."""
        return self._opened_ns

    def note(self, plan: StepPlan, results: Sequence[Result], usage: Usage, planning_ns: int, start_ns: int) -> None:
        """Add a step that has been computed; before its sequences advance."""
        parts = [
            (part.sequence.ticket, part.phase, part.n_rows, len(part.drafts), len(result.choices))
            for part, result in zip(plan.parts, results, strict=True)
        ]
        preempted = [sequence.ticket for sequence, _ in plan.preempted]
        note = _Note(
            self._count, plan.waiting, plan.n_queued, preempted, parts, usage, planning_ns, start_ns, self._clock()
        )
        with self._lock:
            self._notes.append(note)
            self._count += 1

    def since(self, number: int, most: int = N_KEPT) -> list[StepRow]:
        """The rows from `number` on that are still kept, at most the newest `most` of them."""
        with self._lock:
            notes = [note for note in self._notes if note.number >= number]
        return [self._row(note) for note in notes[-most:]]

    def _row(self, note: _Note) -> StepRow:
        return StepRow(
            number=note.number,
            start_ns=note.start_ns - self._opened_ns,
            end_ns=note.end_ns - self._opened_ns,
            planning_ns=note.start_ns - note.planning_ns,
            shares=[Share(*part) for part in note.parts],
            waiting=note.waiting,
            n_queued=note.n_queued,
            pages_used=note.usage.pages_used,
            pages_total=note.usage.pages_total,
            slots_used=note.usage.slots_used,
            slots_total=note.usage.slots_total,
            preempted=note.preempted,
        )
