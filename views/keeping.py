"""What was kept long enough goes, also where nobody saves anything any more: at the app's start, and every hour."""

from __future__ import annotations

import asyncio

from views.store import RunStore
from views.visitor import attempt_store

EVERY_S = 3600.0


async def keep_dropping(runs: RunStore) -> None:
    """Drop old runs and visitors until cancelled."""
    while True:
        await asyncio.to_thread(runs.drop_old)
        await asyncio.to_thread(attempt_store().drop_old)
        await asyncio.sleep(EVERY_S)
