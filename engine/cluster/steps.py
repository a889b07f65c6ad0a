"""The step rows of all engines in one list, numbered as the front hears of them, on the front's clock."""

from __future__ import annotations

import itertools
from collections import OrderedDict, deque
from collections.abc import Iterable

from msgspec.structs import replace

from engine.account.step_record import StepRow
from engine.loop.step_log import N_KEPT

MAX_TICKETS = 4096


class Tickets:
    """The cluster's tickets: every engine counts its own from 1, and a run that moves keeps the one that it has."""

    def __init__(self) -> None:
        self._fresh = itertools.count(1)
        self._known: OrderedDict[tuple[str, int], int] = OrderedDict()

    def of(self, engine: str, ticket: int) -> int:
        """The cluster's ticket of an engine's; a new one for one that was not heard of."""
        key = (engine, ticket)
        if key not in self._known:
            self.same(engine, ticket, next(self._fresh))
        return self._known[key]

    def same(self, engine: str, ticket: int, ours: int) -> None:
        """A run that has our ticket already goes under this one there."""
        self._known[engine, ticket] = ours
        if len(self._known) > MAX_TICKETS:
            self._known.popitem(last=False)


class ClusterSteps:
    """What `engine.loop.step_log.StepLog` is to one engine; written by one thread."""

    def __init__(self, opened_ns: int, tickets: Tickets) -> None:
        self._opened_ns = opened_ns
        self._tickets = tickets
        self._rows: deque[StepRow] = deque(maxlen=N_KEPT)
        self._count = 0

    @property
    def count(self) -> int:
        """Steps heard of."""
        return self._count

    def add(self, engine: str, rows: Iterable[StepRow], opened_ns: int) -> None:
        """Take in an engine's rows; `opened_ns` is where their clock begins, on the front's."""
        shift, of = opened_ns - self._opened_ns, self._tickets.of
        for row in rows:
            moved = replace(
                row, number=self._count, start_ns=row.start_ns + shift, end_ns=row.end_ns + shift, engine=engine,
                shares=[replace(one, ticket=of(engine, one.ticket)) for one in row.shares],
                waiting=[replace(one, ticket=of(engine, one.ticket)) for one in row.waiting],
                preempted=[of(engine, ticket) for ticket in row.preempted],
            )  # fmt: skip
            self._rows.append(moved)
            self._count += 1

    def since(self, number: int, most: int = N_KEPT) -> list[StepRow]:
        """The rows from `number` on that are still kept, at most the newest `most` of them. Any thread."""
        return [row for row in self._rows.copy() if row.number >= number][-most:]
