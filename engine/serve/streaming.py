"""Following a run's log from the server's event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing, contextmanager

from engine.account.record import Event
from engine.account.record_file import encode_event
from engine.loop.run_log import RunLog

PAUSE_S = 0.02
"""Shortest time between two batches to one reader. The first news leaves at once; after that, sending every 1 ms step
on its own would take the interpreter away from the engine's thread for no picture that a person could tell apart."""

KEEP_ALIVE_S = 15.0
"""A stream that is silent for this long carries an empty line, so that a vanished reader is found out."""


async def tail(log: RunLog, start: int, pause_s: float = PAUSE_S) -> AsyncGenerator[list[Event], None]:
    """Batches of events from number `start` on until the run ends; an empty one now and then while nothing happens."""
    async with aclosing(tails([log], start, pause_s)) as batches:
        async for batch in batches:
            yield batch[0]


async def tails(
    logs: Sequence[RunLog], start: int = 0, pause_s: float = PAUSE_S
) -> AsyncGenerator[list[list[Event]], None]:
    """The same for several runs together, until all have ended: of each log the events that are new, perhaps none."""
    positions = [start] * len(logs)
    with _news_of(logs) as news:
        while True:
            news.clear()
            ended = all(log.ended for log in logs)  # before the events: the other order can miss the last one
            fresh = [log.since(position) for log, position in zip(logs, positions, strict=True)]
            if any(fresh):
                positions = [position + len(events) for position, events in zip(positions, fresh, strict=True)]
                yield fresh
                await asyncio.sleep(0 if ended else pause_s)
            elif ended:
                return
            elif not await _rung(news):
                yield fresh


@contextmanager
def _news_of(logs: Sequence[RunLog]) -> Iterator[asyncio.Event]:
    """An event that is set whenever one of the logs may have news."""
    loop = asyncio.get_running_loop()
    news = asyncio.Event()

    def ring(_: RunLog) -> None:
        # On the bell's thread. A loop that closed in between has nobody left to tell.
        if not loop.is_closed():
            loop.call_soon_threadsafe(news.set)

    for log in logs:
        log.subscribe(ring)
    try:
        yield news
    finally:
        for log in logs:
            log.unsubscribe(ring)


async def ndjson(log: RunLog, start: int) -> AsyncGenerator[bytes, None]:
    """The same as lines of JSON, one event a line."""
    async with aclosing(tail(log, start)) as batches:
        async for batch in batches:
            yield b"".join(encode_event(event) + b"\n" for event in batch) or b"\n"


async def _rung(news: asyncio.Event) -> bool:
    try:
        await asyncio.wait_for(news.wait(), KEEP_ALIVE_S)
    except TimeoutError:
        return False
    return True
