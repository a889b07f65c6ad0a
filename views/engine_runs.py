"""Several runs that a page sends to the engine together, watched to their end, and the steps that they took part in.

Whatever interrupts it (a visitor who presses Stop ends the script there) stops the runs, too.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Self

import msgspec

from engine.account.record import Run, Sampling
from engine.serve.client import EngineRefused, EngineUnavailable
from lessons import playback
from lessons.playback import Playback
from views import engine_calls, lane_key
from views.engine_faults import in_words
from views.words import _

PATIENCE_S = 120.0
LOOK_EVERY_S = 0.05
LOOK_CLOSELY_S = 0.005
TEMPERATURE = 0.7
"""Greedy copies would all write the same."""


class Trouble(Exception):
    """The runs could not be had; the message says why, for people."""


class EngineRuns:
    """To be used in a `with` block; every fault of the engine in it leaves as `Trouble`. `tell` gets the share done."""

    def __init__(self, tell: Callable[[float], None]) -> None:
        self._tell = tell
        self._link = engine_calls.engine_link()
        self._lane = lane_key.own_key()
        self._ids: list[str] = []
        self._tickets: dict[str, int | None] = {}
        self._expected = 0
        self._ended = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type | None, fault: BaseException | None, _trace: TracebackType | None) -> None:
        for run_id in () if self._ended else self._ids:
            engine_calls.stop_run(run_id)
        if isinstance(fault, EngineRefused):
            raise Trouble(in_words(fault)) from fault
        if isinstance(fault, EngineUnavailable):
            raise Trouble(engine_calls.engine_notice() or _("The engine does not answer.")) from fault

    def begin_together(self, prompt: str, sampling: Sampling, n: int) -> None:
        """Send copies that differ in their seeds, from as many threads, so that they arrive together."""
        seeded = [
            msgspec.structs.replace(sampling, seed=sampling.seed + copy, temperature=TEMPERATURE) for copy in range(n)
        ]
        with ThreadPoolExecutor(n) as together:
            list(together.map(lambda one: self.begin(prompt, one), seeded))

    def begin(self, prompt: str, sampling: Sampling) -> None:
        """Send one more."""
        self._expected += sampling.max_new_tokens
        # Each is noted as soon as it is known: if another copy is refused, this one is to be stopped.
        self._ids.append(self._link.submit(prompt, sampling, lane=self._lane))

    def wait_for_tokens(self, n: int) -> None:
        """Until each of them has so many new tokens, or has ended."""
        own, until = self._own(), time.monotonic() + PATIENCE_S
        while any(row.ticket in own and row.new_tokens < n for row in self._link.client.batch()):
            self._look(until, LOOK_CLOSELY_S)

    def wait(self) -> None:
        """Until none is in the engine's live table. Reading whole records meanwhile would slow what is measured."""
        own, until = self._own(), time.monotonic() + PATIENCE_S
        each = self._expected / len(self._ids)
        while left := [row for row in self._link.client.batch() if row.ticket in own]:
            done = (len(self._ids) - len(left)) * each + sum(row.new_tokens for row in left)
            self._tell(min(1.0, done / self._expected))
            self._look(until, LOOK_EVERY_S)
        self._ended = True
        self._tell(1.0)

    def playback(self, name: str) -> Playback:
        """The steps of them all, in the order in which they were sent."""
        runs = [run for run_id in self._ids if (run := self._whole(run_id)) is not None]
        table = self._link.client.steps(0)
        whole = len(runs) == len(self._ids)
        found = playback.of_engine(name, table.policy, runs, table.rows) if whole else None
        if found is None:
            raise Trouble(_("The engine does not keep all of this run any more. Try it again."))
        return found

    def _own(self) -> set[int | None]:
        """Their rows in the live table. A run is read once for that: reading takes time from what is measured."""
        for run_id in self._ids:
            if run_id not in self._tickets and (run := self._link.run(run_id)) is not None:
                self._tickets[run_id] = run.header.ticket
        return set(self._tickets.values())

    def _look(self, until: float, pause_s: float) -> None:
        if time.monotonic() > until:
            raise Trouble(_("The engine took longer than {n} seconds.").format(n=round(PATIENCE_S)))
        time.sleep(pause_s)

    def _whole(self, run_id: str) -> Run | None:
        """The whole record; its last line may come a moment after the request has left the live table."""
        for _attempt in range(40):
            run = self._link.run(run_id)
            if run is None or run.end is not None:
                return run
            time.sleep(LOOK_EVERY_S)
        return None
