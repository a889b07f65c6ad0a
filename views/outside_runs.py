"""Runs at the operator's outside engine, asked by this process and timed here; kept like all other runs when they end.

Each is a task on one event loop in a thread of its own, so a page's script run neither waits for it nor delays it. Who
visits chooses a prompt and settings, never an address: that is the operator's (engine.outside.server.configured).
"""

from __future__ import annotations

import asyncio
import secrets
import threading
from collections.abc import Collection
from dataclasses import dataclass

import streamlit as st

from engine.account import any_record
from engine.account.outside_record import OutsideRun
from engine.account.record import Sampling
from engine.outside.server import OutsideError, OutsideServer, configured
from engine.outside.stream import PATIENCE, Patience, ask
from views.engine_link import EngineLink, engine_link

MAX_AT_ONCE = 4
"""Of all visitors together: whoever runs the outside engine is not to be flooded."""
CLOSING_S = 5.0


@dataclass
class _Live:
    """A run on its way; `task` is None until the loop has taken it up."""

    run: OutsideRun
    task: asyncio.Task[None] | None = None


class OutsideRuns:
    """Any thread. What has ended and is kept lies in the store and no longer here."""

    def __init__(self, server: OutsideServer, link: EngineLink, patience: Patience = PATIENCE) -> None:
        self.server = server
        self._link = link
        self._patience = patience
        self._lock = threading.Lock()
        self._live: dict[str, _Live] = {}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="outside-runs", daemon=True)
        self._thread.start()

    def start(self, prompt: str, sampling: Sampling) -> str:
        """Ask, and return the run's id at once; raises `OutsideError` while too many are on their way."""
        run_id = secrets.token_hex(16)
        with self._lock:
            if len(self._live) >= MAX_AT_ONCE:
                message = f"{MAX_AT_ONCE} prompts are at the outside engine now. Try again in a moment."
                raise OutsideError("busy", message)
            self._live[run_id] = _Live(OutsideRun([]))
        self._loop.call_soon_threadsafe(self._take_up, run_id, prompt, sampling)
        return run_id

    def run(self, run_id: str) -> OutsideRun | None:
        """A copy of a run that is on its way; None for one that is not, or of which nothing has come yet."""
        live = self._live.get(run_id)
        return OutsideRun(list(live.run.events)) if live and live.run.events else None

    def is_asking(self, run_id: str) -> bool:
        """Whether it is on its way."""
        return run_id in self._live

    def stop(self, run_ids: Collection[str]) -> None:
        """End runs early; those that have ended need no stopping."""
        for run_id in run_ids:
            self._loop.call_soon_threadsafe(self._cancel, run_id)

    def close(self) -> None:
        """End all, and the thread."""
        asyncio.run_coroutine_threadsafe(self._end_all(), self._loop)
        self._thread.join(CLOSING_S)

    def _take_up(self, run_id: str, prompt: str, sampling: Sampling) -> None:
        live = self._live[run_id]
        live.task = self._loop.create_task(self._ask(run_id, live.run, prompt, sampling))
        live.task.add_done_callback(lambda _task: self._live.pop(run_id, None))

    def _cancel(self, run_id: str) -> None:
        live = self._live.get(run_id)
        if live and live.task:
            live.task.cancel()

    async def _end_all(self) -> None:
        tasks = [live.task for live in self._live.values() if live.task]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._loop.stop()

    async def _ask(self, run_id: str, run: OutsideRun, prompt: str, sampling: Sampling) -> None:
        try:
            await ask(self.server, prompt, sampling, patience=self._patience, run_id=run_id, tell=run.events.append)
        finally:
            if not self._link.hubs.is_deleted(run_id):
                await asyncio.to_thread(self._link.store.save, run_id, any_record.dumps(run))


@st.cache_resource(show_spinner=False, on_release=OutsideRuns.close)
def _runs(server: OutsideServer) -> OutsideRuns:
    return OutsideRuns(server, engine_link())


def outside_runs() -> OutsideRuns | None:
    """The process's one list of outside runs; None where the operator has set no outside engine, or a useless one."""
    try:
        server = configured()
    except OutsideError:
        return None
    return _runs(server) if server else None
