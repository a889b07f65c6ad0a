"""One run's way through the pools: asks an engine, writes down what it reports, and asks another when one is lost.

Nothing is lost and nothing comes twice: what the front has written is what the next engine starts from, and a draw
depends on the seed and the position alone, so the tokens are those that the first engine would have given.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, NamedTuple, Protocol

from engine.cluster.clocks import Reading, offset_ns
from engine.cluster.journal import Journal
from engine.cluster.messages import Ask, Hello, Message, News, No, Parcel
from engine.loop.request import Request, RequestError

MAX_LOSSES = 5
"""So many engines may be lost one after another without a new token; then the run is given up."""

_PARCEL_FAULTS = ("parcel_lost", "broken_handover")
"""What a pass over the prompt and the known tokens heals."""

_log = logging.getLogger(__name__)


class EngineLost(ConnectionError):
    """The engine that had the run is gone, or the memory that it handed over."""


class Serves(Protocol):
    """A pool of engines; `engine.cluster.pool.Pool` is the real one."""

    def serve(self, ask: Ask) -> AsyncGenerator[Message, None]:
        """Have one of them take its share of a run. Raises EngineLost, at any moment."""


class Pools(NamedTuple):
    """Where prompts are computed and where tokens are decoded; without the second, engines do both."""

    first: Serves
    second: Serves | None = None


class Relay:
    """One run under way. `run` belongs to one event loop; `accepted` may be waited for on any thread."""

    def __init__(self, request: Request, journal: Journal, pools: Pools, arrived: Reading, *, in_lane: bool) -> None:
        self.accepted: concurrent.futures.Future[None] = concurrent.futures.Future()
        """Done when an engine has taken the run; holds the RequestError if none will."""
        self._request = request
        self._journal = journal
        self._pools = pools
        self._arrived = arrived
        self._in_lane = in_lane
        self._parcel: tuple[Any, ...] = ()
        self._engine: str | None = None
        self._losses = 0

    async def run(self) -> None:
        """To the run's end, however it comes."""
        journal = self._journal
        try:
            while not journal.done:
                await self._leg()
        except asyncio.CancelledError:
            if journal.begun and not journal.done:
                journal.ended("cancelled", Reading.now().ns)
        except RequestError as no:
            self._give_up(no.code, no.message)
        except EngineLost:
            self._give_up("engine_lost", "The engines that computed this request were lost, one after another.")
        except Exception:
            _log.exception("a run could not be relayed")
            self._give_up("engine_failed", "The cluster failed while serving this request; its log has the details.")
        if not self.accepted.done():
            self.accepted.set_exception(RequestError("engine_closed", "The request was stopped before it had begun."))

    def _give_up(self, code: str, message: str) -> None:
        if not self._journal.begun:
            self.accepted.set_exception(RequestError(code, message))
        elif not self._journal.done:
            self._journal.failed(code, message, Reading.now().ns)

    async def _leg(self) -> None:
        """One engine's share; raises EngineLost if too many were lost."""
        known = len(self._journal.emitted)
        pool, ask = self._next()
        self._parcel = ()
        self._journal.asking()
        try:
            async with aclosing(pool.serve(ask)) as messages:
                await self._follow(messages, Reading.now())
            if not (self._journal.done or self._parcel):
                raise EngineLost("the engine stopped reporting")
        except EngineLost as lost:
            _log.warning("an engine was lost in mid-run (%s)", lost)
            self._losses = 1 if len(self._journal.emitted) > known else self._losses + 1
            self._journal.lost()
            if self._losses > MAX_LOSSES:
                raise

    def _next(self) -> tuple[Serves, Ask]:
        request, second = self._request, self._pools.second
        decodes = second is not None and bool(self._parcel)
        ask = Ask(
            request.prompt, request.sampling, request.serving, tuple(self._journal.emitted), in_lane=self._in_lane,
            hand_over=second is not None and not decodes, parcel=self._parcel, sender=self._engine,
        )  # fmt: skip
        return second if second is not None and decodes else self._pools.first, ask

    async def _follow(self, messages: AsyncGenerator[Message, None], asked: Reading) -> None:
        offset = 0
        async for message in messages:
            if isinstance(message, Hello):
                self._engine = message.engine
                there = offset_ns(asked, message.arrived, message.sent, Reading.now())
                offset = message.arrived.ns + there - self._arrived.ns
            elif isinstance(message, News):
                assert self._engine is not None
                self._journal.take(self._engine, message.events, offset)
                if self._journal.begun and not self.accepted.done():
                    self.accepted.set_result(None)
            elif isinstance(message, Parcel):
                self._parcel = message.reference
            elif message.code in _PARCEL_FAULTS:
                raise EngineLost(message.message)
            elif isinstance(message, No):
                raise RequestError(message.code, message.message)
