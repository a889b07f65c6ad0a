"""The cluster with an engine's face, so that the engine server's routes serve it unchanged.

What an `Engine` does by computing, this does by asking: a run is relayed, what is told now and then is remembered. It
has an event loop of its own on a thread of its own; the server calls it from others.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import secrets
import threading
from collections.abc import Coroutine
from typing import Any, NamedTuple

from engine.account.record import ModelShape, Run
from engine.account.trace_record import TraceRecord
from engine.cluster.clocks import Reading, offset_ns
from engine.cluster.journal import Journal
from engine.cluster.messages import Told
from engine.cluster.pool import Pool
from engine.cluster.relay import Pools, Relay
from engine.cluster.steps import ClusterSteps, Tickets
from engine.loop.parts import Tokenizes
from engine.loop.policy import Policy
from engine.loop.queueing import Reserved
from engine.loop.request import Request, RequestError
from engine.loop.room import Usage
from engine.loop.run_log import Bell, RunLog
from engine.loop.scheduler import BatchRow

ACCEPT_S = 30.0
"""So long a request waits for an engine that takes it, while the last one is being replaced."""
BUSY_S, IDLE_S = 0.5, 5.0
"""How often the engines are asked how they are, with runs under way and without."""
TELL_S = 5.0

_log = logging.getLogger(__name__)


class _Live(NamedTuple):
    journal: Journal
    task: concurrent.futures.Future[None]


class ClusterEngine:
    """Stands where the server expects an `engine.loop.engine.Engine`."""

    def __init__(self, tokenizer: Tokenizes, first: Pool, second: Pool | None = None) -> None:
        """Wait until each pool has an engine; raises what kept it from loading."""
        self.tokenizer = tokenizer
        self._pools = [first] if second is None else [first, second]
        self._ways = Pools(first, second)
        descriptions = [pool.describe() for pool in self._pools]
        if any(one.shape != descriptions[0].shape for one in descriptions):
            raise ValueError("The two pools have loaded different models.")
        self.shape: ModelShape = descriptions[0].shape
        self.context_length = min(one.context_length for one in descriptions)
        self.policy: Policy = descriptions[-1].policy
        self._tickets = Tickets()
        self.steps = ClusterSteps(Reading.now().ns, self._tickets)
        self._live: dict[str, _Live] = {}
        self._told: dict[str, Told] = {}
        self._counts: list[int] = []
        self._bell = Bell()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="cluster-relay", daemon=True)
        self._closed = False

    @property
    def models(self) -> dict[str, ModelShape]:
        """The one model, by name."""
        return {self.shape.name: self.shape}

    @property
    def condition(self) -> str | None:
        """For people: how many engines there are, as of the last time they were asked; None before that."""
        if not self._counts:
            return None
        counted = zip(self._counts, self._pools, strict=True)
        return ", ".join(f"{n} engine{'' if n == 1 else 's'} {pool.purpose}" for n, pool in counted) + "."

    @property
    def usage(self) -> Usage:
        """Pages and slots of all engines together, as they were told last; zeros before that."""
        if not self._told:
            return Usage(0, 0, 0, 0)
        return Usage(*(sum(column) for column in zip(*(one.usage for one in self._told.values()), strict=True)))

    def start(self) -> None:
        """Begin to relay, and to ask the engines how they are. Idempotent."""
        if not self._thread.is_alive():
            self._thread.start()
            self._spawn(self._look_after())

    def submit(self, request: Request, *, in_lane: bool = False) -> RunLog:
        """As `Engine.submit`: returns the log when an engine has taken the run. Raises RequestError."""
        arrived = Reading.now()
        run_id = request.request_id or secrets.token_hex(16)
        log = RunLog(run_id, self._bell, lambda: self.cancel(run_id))
        journal = Journal(log, arrived.ns, self.tokenizer.eos_ids, self._tickets)
        relay = Relay(request, journal, self._ways, arrived, in_lane=in_lane)
        if self._closed:
            raise RequestError("engine_closed", "The cluster is closed.")
        task = self._spawn(relay.run())
        self._live[run_id] = _Live(journal, task)
        task.add_done_callback(lambda _: self._live.pop(run_id, None))
        try:
            relay.accepted.result(ACCEPT_S)
        except TimeoutError:
            task.cancel()
            raise RequestError("engine_closed", "No engine of the cluster is running now. Try again soon.") from None
        return log

    def cancel(self, run_id: str) -> bool:
        """Stop a run; False if no such run is live. Any thread."""
        live = self._live.get(run_id)
        if live is not None:
            live.task.cancel()
        return live is not None

    def batch_table(self) -> list[BatchRow]:
        """The live rows as far as the front has heard, running first. Any thread."""
        rows = [row for live in list(self._live.values()) if (row := live.journal.row()) is not None]
        return sorted(rows, key=lambda row: row.phase is None)

    def trace(self, run: Run, layer: int, head: int) -> TraceRecord:
        """Replay a finished run with instruments, on some engine. Raises TraceError (engine.loop.trace)."""
        return self._pools[0].trace(run, layer, head)

    def reserve(self, reserved: Reserved) -> None:
        """Reserve every engine that there is now."""
        left_ns = reserved.until_ns - Reading.now().ns
        self._spawn(self._everywhere("reserve", left_ns, reserved.until))

    def release(self) -> None:
        """The reservation is over everywhere."""
        self._spawn(self._everywhere("release"))

    def close(self) -> None:
        """End live runs as cancelled and stop. Idempotent."""
        self._closed = True
        for live in list(self._live.values()):
            live.task.cancel()
        if self._thread.is_alive():
            concurrent.futures.wait([live.task for live in list(self._live.values())], timeout=2)
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(timeout=2)
        self._bell.close()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> concurrent.futures.Future[None]:
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    async def _everywhere(self, method: str, *arguments: Any) -> None:
        for pool in self._pools:
            await pool.everywhere(method, *arguments, timeout_s=TELL_S)

    async def _look_after(self) -> None:
        while True:
            try:
                await self._ask_all()
            except Exception:
                # A replica that dies while it is asked; the next time it is not among them.
                _log.warning("the engines could not be asked how they are", exc_info=True)
            await asyncio.sleep(BUSY_S if self._live else IDLE_S)

    async def _ask_all(self) -> None:
        """Their memory and their step rows since the last time; who does not answer is left out."""
        cursors = {name: told.next_step for name, told in self._told.items()}
        heard: dict[str, Told] = {}
        counts = []
        for pool in self._pools:
            asked = Reading.now()
            answers = await pool.everywhere("tell", cursors, timeout_s=TELL_S)
            received = Reading.now()
            told = [one for one in answers if isinstance(one, Told)]
            counts.append(len(told))
            for one in told:
                there = offset_ns(asked, one.now, one.now, received)
                self.steps.add(one.engine, one.rows, one.opened.ns + there)
                heard[one.engine] = one
        self._told, self._counts = heard, counts
