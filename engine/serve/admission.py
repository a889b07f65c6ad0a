"""The one way in: a request is checked, handed to the engine, and entered in the registry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import anyio.to_thread

from engine.account.record import Sampling, Serving
from engine.account.step_record import StepRow
from engine.loop.request import Request, RequestError
from engine.loop.room import Usage
from engine.loop.run_log import RunLog
from engine.loop.variant import named
from engine.serve import wire
from engine.serve.faults import Refused
from engine.serve.host import EngineHost
from engine.serve.quiet_lane import QuietLane
from engine.serve.registry import RunRegistry

if TYPE_CHECKING:
    from engine.loop.engine import Engine

MAX_WAITING = 128
"""Beyond this many waiting requests a new one is refused: an answer now is worth more than a place in an hour. Two
classes of thirty with two runs each fit, and with 32 new tokens each the last of them waits seconds on two cores.
"""


@dataclass(frozen=True)
class Admission:
    """The engine and the registry together, as the routes see them."""

    host: EngineHost
    runs: RunRegistry
    max_waiting: int
    lane: QuietLane = field(default_factory=QuietLane)

    async def submit(
        self, model: str | None, prompt: str, sampling: Sampling, serving: Serving = wire.DEFAULT_SERVING, *,
        needs_viewers: bool, lane: str | None = None,
    ) -> RunLog:  # fmt: skip
        """Queue a request; returns its log at once. `lane` is the key of a reservation.

        Raises Refused: 400 for the request, 404 for the model, 409 for the key, 429 for the queue, 503 for the engine.
        """
        if serving.weights is not None:
            model = named(model or next(iter(self.host.engine.models)), serving.weights)
        engine = await self.engine(model)
        self.lane.cover(engine)
        in_lane = self.lane.admits(lane)
        if not in_lane and self.running_and_waiting()[1] >= self.max_waiting:
            raise Refused(
                429, "queue_full", f"{self.max_waiting} requests are waiting already. Try again in a little while."
            )
        try:
            request = Request(prompt, sampling, serving=serving)
            submit = partial(engine.submit, in_lane=True) if in_lane else engine.submit
            log = await anyio.to_thread.run_sync(submit, request)
        except RequestError as wrong:
            status = 503 if wrong.code == "engine_closed" else 400
            raise Refused(status, wrong.code, wrong.message) from None
        self.runs.add(log, needs_viewers=needs_viewers)
        return log

    async def engine(self, model: str | None) -> Engine:
        """The engine of a model's name; see `EngineHost.engine_for`. Loading a variant does not hold the server up."""
        if self.host.is_loaded(model):
            return self.host.engine_for(model)
        return await anyio.to_thread.run_sync(self.host.engine_for, model)

    def log(self, run_id: str) -> RunLog:
        """The log of a run; raises Refused (404)."""
        log = self.runs.find(run_id)
        if log is None:
            message = (
                "This engine has no such run. It may have been dropped to make room, or belong to an earlier start."
            )
            raise Refused(404, "unknown_run", message)
        return log

    def reserve(self, seconds: float) -> wire.Reservation:
        """Give the engine to one person's runs for a while. Raises Refused: 409 if it is reserved, 503 without one."""
        return self.lane.reserve(seconds, self.host.engines)

    def running_and_waiting(self) -> tuple[int, int]:
        """How many requests are being computed and how many wait; (0, 0) without an engine."""
        if self.host.health.status != "ready":
            return 0, 0
        rows = [row for engine in self.host.engines for row in engine.batch_table()]
        waiting = sum(row.phase is None for row in rows)
        return len(rows) - waiting, waiting

    def usage(self) -> Usage | None:
        """Pages and slots in use; None without an engine."""
        return self.host.engine.usage if self.host.health.status == "ready" else None

    def steps_since(self, number: int) -> Sequence[StepRow]:
        """The engine's step rows from `number` on, as far as they are kept."""
        return self.host.engine.steps.since(number) if self.host.health.status == "ready" else ()
