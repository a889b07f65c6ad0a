"""Following a run's log from the server's event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from engine.account.record import Event
from engine.account.record_file import encode_event
from engine.loop.run_log import RunLog

PAUSE_S = 0.02
"""Shortest time between two batches to one reader. The first news leaves at once; after that, sending every 1 ms step
on its own would take the interpreter away from the engine's thread for no picture that a person could tell apart."""

KEEP_ALIVE_S = 15.0
"""A stream that is silent for this long carries an empty line, so that a vanished reader is found out."""


async def tail(log: RunLog, start: int) -> AsyncGenerator[list[Event], None]:
    """Batches of events from number `start` on until the run ends; an empty one now and then while nothing happens."""
    loop = asyncio.get_running_loop()
    news = asyncio.Event()

    def ring(_: RunLog) -> None:
        # On the bell's thread. A loop that closed in between has nobody left to tell.
        if not loop.is_closed():
            loop.call_soon_threadsafe(news.set)

    log.subscribe(ring)
    try:
        position = start
        while True:
            news.clear()
            ended = log.ended  # before the events: the other order can miss the last one
            fresh = log.since(position)
            if fresh:
                position += len(fresh)
                yield fresh
                await asyncio.sleep(0 if ended else PAUSE_S)
            elif ended:
                return
            elif not await _rung(news):
                yield []
    finally:
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
