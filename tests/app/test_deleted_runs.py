"""A run that its owner has deleted: not in the store, not in memory, not fetched from the engine again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import pytest

from views.hub import Hubs
from views.store import RunStore


class Engine:
    """An engine that still knows every run."""

    generation = 1
    supervised = True

    async def lines(self, run_id: str, start: int) -> AsyncGenerator[bytes, None]:
        for line in (b'{"index": 0, "event": "header"}', b'{"index": 1, "event": "end"}')[start:]:
            yield line


@pytest.fixture
def store(tmp_path) -> RunStore:
    return RunStore(tmp_path)


async def watched(hubs: Hubs, run_id: str) -> list[bytes]:
    hub = await hubs.open(run_id)
    with hub.watched():
        while not hub.ended and hub.refusal is None:
            await hub.news()
    await asyncio.sleep(0.05)  # what has ended is saved beside
    return hub.lines


def test_it_is_shown_and_kept_before_and_neither_after(store):
    hubs = Hubs(Engine(), store.load, store.save)

    async def story() -> None:
        assert len(await watched(hubs, "mine")) == 2 and store.load("mine")
        hubs.forget(["mine"])
        store.delete(["mine"])
        assert await watched(hubs, "mine") == []
        assert (await hubs.open("mine")).refusal is not None and hubs.held("mine") is None
        assert store.load("mine") is None
        assert len(await watched(hubs, "yours")) == 2

    asyncio.run(story())


def test_one_that_is_deleted_while_it_is_watched_is_not_kept_at_its_end(store):
    hubs = Hubs(Engine(), store.load, store.save)

    async def story() -> None:
        hub = await hubs.open("mine")
        hubs.forget(["mine"])
        with hub.watched():
            while not hub.ended:
                await hub.news()
        await asyncio.sleep(0.05)
        assert store.load("mine") is None

    asyncio.run(story())
