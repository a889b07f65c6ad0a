"""The load generator: sends the requests of a plan to an engine and keeps the record of each.

One event loop holds all connections, so that hundreds of waiting requests cost almost nothing. It follows every run's
log as a page would, reads the events only after the run has ended, and leaves as users leave, in mid-answer.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import httpx
import msgspec

from engine.account.goodput import Limits
from engine.account.record import Event, Pass, Run
from engine.account.record_file import RecordError, decode_event
from engine.account.step_record import StepRow
from engine.serve import wire
from engine.serve.client import EngineClient, EngineRefused, EngineUnavailable, refusal
from engine.serve.lines import LineCutter
from engine.serve.load_plan import Ask, LoadPlan
from engine.serve.load_result import LoadResult, Sent, summarise

_UNBOUNDED = httpx.Limits(max_connections=None, max_keepalive_connections=None)
"""A request that waited here for a connection would be a request that did not arrive."""


class Tally(NamedTuple):
    """How far a test is: requests sent, and of these ended and refused."""

    sent: int
    ended: int
    refused: int


Watcher = Callable[[Tally], None]
"""Called after each request that ended."""


def run_load(
    client: EngineClient, plan: LoadPlan, *,
    limits: Limits | None = None, watch: Watcher = lambda tally: None, keep: Callable[[Run], None] = lambda run: None,
) -> LoadResult:  # fmt: skip
    """Send a plan's requests and wait for all of them; Ctrl-C ends it early with what there is.

    `keep` gets every run with all its odds; in memory only the odds of the choices stay. Raises ValueError if the
    plan's texts cannot be made. Not for use inside a running event loop.
    """
    test = _LoadTest(client, plan, watch, keep)
    first_step = _next_step(client)
    interrupted = False
    try:
        asyncio.run(test.drive())
    except KeyboardInterrupt:
        interrupted = True
        _leave(client, test.sent)
    except ExceptionGroup as several:
        raise several.exceptions[0] from None
    steps = _steps(client, first_step)
    return summarise(plan, test.sent, steps, first_step, interrupted=interrupted, limits=limits)


class _LoadTest:
    """One test under way."""

    def __init__(self, client: EngineClient, plan: LoadPlan, watch: Watcher, keep: Callable[[Run], None]) -> None:
        self._client = client
        self._plan = plan
        self._watch = watch
        self._keep = keep
        self._begun = time.perf_counter_ns()
        self._ended = self._refused = 0
        self.sent: list[Sent] = []

    async def drive(self) -> None:
        """Send everything, wait for everything."""
        options = self._plan.options
        async with self._client.asynchronous(_UNBOUNDED) as http:
            self._begun = time.perf_counter_ns()
            asks = iter(self._plan.asks)
            async with asyncio.TaskGroup() as tasks:
                if options.users is None:
                    await self._open(http, asks, tasks)
                else:
                    for _ in range(options.users):
                        tasks.create_task(self._user(http, asks))

    async def _open(self, http: httpx.AsyncClient, asks: Iterator[Ask], tasks: asyncio.TaskGroup) -> None:
        for ask in asks:
            assert ask.at_ns is not None
            prompt = self._plan.prompt(ask)  # before its time, so that making it does not delay it
            await asyncio.sleep(max(0, ask.at_ns - self._now()) / 1e9)
            tasks.create_task(self._send(http, ask, prompt))

    async def _user(self, http: httpx.AsyncClient, asks: Iterator[Ask]) -> None:
        """Ask, wait for the end, pause, ask again, until the requests or the time are used up."""
        seconds = self._plan.options.seconds
        for ask in asks:
            if seconds is not None and self._now() >= seconds * 1e9:
                return
            await self._send(http, ask, self._plan.prompt(ask))
            await asyncio.sleep(ask.think_s)

    async def _send(self, http: httpx.AsyncClient, ask: Ask, prompt: str) -> None:
        one = Sent(ask, self._now())
        self.sent.append(one)
        try:
            one.run_id = await self._submit(http, ask, prompt)
            await self._follow(http, one)
        except EngineRefused as no:
            one.outcome, one.reason = "refused", no.code
        except (httpx.TransportError, RecordError) as broken:
            if one.outcome != "ran":
                one.outcome, one.reason = "lost", type(broken).__name__
        finally:
            one.ended_ns = self._now()
            self._ended += 1
            self._refused += one.outcome == "refused"
        self._watch(Tally(len(self.sent), self._ended, self._refused))

    async def _submit(self, http: httpx.AsyncClient, ask: Ask, prompt: str) -> str:
        body = wire.encode(wire.RunRequest(prompt, self._plan.sampling(ask), serving=self._plan.serving))
        answer = await http.post("/runs", content=body, headers={"Content-Type": "application/json"})
        if answer.is_error:
            raise refusal(answer)
        return msgspec.json.decode(answer.content, type=wire.RunAccepted).run_id

    async def _follow(self, http: httpx.AsyncClient, one: Sent) -> None:
        """Note when each line of the log arrives; the lines are read when the run has ended."""
        lines: list[tuple[int, bytes]] = []
        cutter = LineCutter()
        try:
            async with http.stream("GET", f"/runs/{one.run_id}/events") as answer:
                if answer.is_error:
                    await answer.aread()
                    raise refusal(answer)
                left = await self._leave_if_due(http, one, 0)
                n_tokens = 0
                async for chunk in answer.aiter_bytes():
                    now = self._now()
                    fresh = cutter.feed(chunk)
                    lines += [(now, line) for line in fresh]
                    if one.ask.leaves_after and not left:
                        n_tokens += sum(_n_emitted(decode_event(line)) for line in fresh)
                        left = await self._leave_if_due(http, one, n_tokens)
            one.outcome, one.reason = "lost", "cut_off"  # until its last event has been read
        finally:
            self._read(one, lines)

    @staticmethod
    async def _leave_if_due(http: httpx.AsyncClient, one: Sent, n_tokens: int) -> bool:
        due = one.ask.leaves_after is not None and n_tokens >= one.ask.leaves_after
        if due:
            await http.post(f"/runs/{one.run_id}/cancel")
        return due

    def _read(self, one: Sent, lines: list[tuple[int, bytes]]) -> None:
        events = [(now, decode_event(line)) for now, line in lines]
        if not events:
            return
        one.token_ns = list(dict.fromkeys(now for now, event in events if _n_emitted(event)))
        one.run = Run([_slim(event) for _, event in events])
        if one.run.end is not None:
            one.outcome, one.reason = "ran", ""
        self._keep(Run([event for _, event in events]))

    def _now(self) -> int:
        return time.perf_counter_ns() - self._begun


def _n_emitted(event: Event) -> int:
    return len(event.emitted) if isinstance(event, Pass) else 0


def _slim(event: Event) -> Event:
    """Without the odds of what was not chosen: they are nearly all of an event's size."""
    if not isinstance(event, Pass):
        return event
    chosen = [
        msgspec.structs.replace(one, candidates=[c for c in one.candidates if c.token.id == one.token.id])
        for one in event.emitted
    ]
    return msgspec.structs.replace(event, emitted=chosen)


def _leave(client: EngineClient, sent: list[Sent]) -> None:
    """Stop what still runs at the engine: nobody is there for it any more."""
    for one in sent:
        if one.run_id is not None and one.outcome != "ran":
            with contextlib.suppress(EngineRefused, EngineUnavailable):
                client.cancel(one.run_id)


def _next_step(client: EngineClient) -> int:
    """The number that the engine's next step will have."""
    rows = _steps(client, 0)
    return rows[-1].number + 1 if rows else 0


def _steps(client: EngineClient, start: int) -> list[StepRow]:
    """The engine's rows since; none if it is gone, which its requests tell, or keeps none."""
    try:
        return client.steps(start).rows
    except (EngineRefused, EngineUnavailable):
        return []
