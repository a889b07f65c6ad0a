"""One engine's share of runs: what a replica does, told apart from where it lives and how bytes get there."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any

import msgspec

from engine.cluster.clocks import Reading
from engine.cluster.messages import Ask, Hello, Message, News, No, Parcel, Told
from engine.loop.engine import Engine
from engine.loop.leg import Arrived, Leg
from engine.loop.request import Request, RequestError
from engine.loop.run_log import RunLog
from engine.memory.handover import Exported
from engine.serve.streaming import PAUSE_S, tail

Put = Callable[[Exported], Any]
"""Leave memory where another engine can get it; returns the reference."""
Get = Callable[[Any], Exported]
"""Get what a reference stands for; raises LookupError if it is gone."""


class Share:
    """An engine with its name in the cluster, and the two ways of the store that all engines share."""

    def __init__(self, name: str, engine: Engine, put: Put, get: Get) -> None:
        self.name = name
        self.engine = engine
        self._put = put
        self._get = get

    async def serve(self, ask: Ask) -> AsyncGenerator[Message, None]:
        """Do this engine's share and report it as it happens; who stops listening cancels it."""
        exported: list[Exported] = []
        try:
            arrived = await self._fetch(ask)
            leg = Leg(ask.emitted, arrived, exported.append if ask.hand_over else None)
            log, at = await asyncio.to_thread(self._submit, ask, leg)
        except RequestError as no:
            yield No(no.code, no.message)
            return
        del arrived, leg  # the engine lets go of what arrived when it has its own copy, and so should we
        try:
            yield Hello(self.name, at, Reading.now())
            # A prompt is one batch of news or a few, and the engine that goes on waits for them.
            async with aclosing(tail(log, 0, 0.0 if ask.hand_over else PAUSE_S)) as batches:
                async for events in batches:
                    if events:
                        yield News.of(events)
            if exported:
                yield Parcel((await asyncio.to_thread(self._put, exported.pop()),))
        finally:
            log.cancel()

    def tell(self, cursors: dict[str, int]) -> Told:
        """How it is, and its step rows from the number on that `cursors` names; of an engine not named, from now on."""
        steps = self.engine.steps
        start = cursors.get(self.name, steps.count)
        rows = steps.since(start)
        now = Reading.now()
        return Told(
            self.name, self.engine.usage, msgspec.msgpack.encode(rows), rows[-1].number + 1 if rows else start,
            now._replace(ns=steps.opened_ns), now,
        )  # fmt: skip

    async def _fetch(self, ask: Ask) -> Arrived | None:
        """The memory that another engine has handed over. Raises RequestError if it is gone."""
        if not ask.parcel:
            return None
        begun = time.perf_counter_ns()
        try:
            exported = await asyncio.to_thread(self._get, ask.parcel[0])
        except LookupError as gone:
            raise RequestError("parcel_lost", f"The memory that was handed over is gone: {gone}") from None
        return Arrived(exported, ask.sender or "", self.name, time.perf_counter_ns() - begun)

    def _submit(self, ask: Ask, leg: Leg) -> tuple[RunLog, Reading]:
        request = Request(ask.prompt, ask.sampling, serving=ask.serving)
        at = Reading.now()
        return self.engine.submit(request, in_lane=ask.in_lane, leg=leg), at
