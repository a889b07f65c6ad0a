"""How the app reaches its engine: one link for the whole process, shared by pages, routes and the app's start and end.

Without an address the link starts an engine of its own and keeps it alive; TWOSPEEDS_ENGINE_URL, with
TWOSPEEDS_ENGINE_TOKEN, names one elsewhere. Nothing here imports torch.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress

import streamlit as st

from engine.account.record import SCHEMA, Run, Sampling, Serving
from engine.account.record_file import RecordError, dumps, loads
from engine.serve import wire
from engine.serve.client import EngineClient, EngineRefused, EngineUnavailable, place_of
from engine.serve.launch import Supervisor
from views.hub import Hubs
from views.store import RunStore

PATIENCE_S = 30.0
"""How long a person's first run waits for an engine that is still loading."""


class EngineLink:
    """The engine as the app sees it. Any thread; `hubs` belongs to the event loop."""

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        supervisor: Supervisor | None = None,
        store: RunStore | None = None,
    ) -> None:
        self._remote = EngineClient(url, token) if url else None
        self._supervisor = None if url else supervisor or Supervisor()
        self._is_readable = False
        self._local: EngineClient | None = None
        self._lock = threading.Lock()
        self.store = store or RunStore()
        self.hubs = Hubs(self, self.store.load, self.store.save)

    def start(self) -> None:
        """Start an engine if it is ours to start; returns at once. Idempotent."""
        if self._supervisor:
            self._supervisor.start()

    def close(self) -> None:
        """End the engine that this link started. Idempotent."""
        if self._supervisor:
            self._supervisor.close()

    @property
    def supervised(self) -> bool:
        """Whether the engine is a child of this process."""
        return self._supervisor is not None

    @property
    def generation(self) -> int | None:
        """Counts the engine processes started here; None while none answers. An engine elsewhere has generation 0."""
        if self._supervisor is None:
            return 0
        return self._supervisor.generation if self._supervisor.url else None

    @property
    def client(self) -> EngineClient:
        """A client of the engine that runs now; raises EngineUnavailable while none does."""
        if self._remote:
            return self._remote
        assert self._supervisor is not None
        url = self._supervisor.url
        if url is None:
            raise EngineUnavailable(self._supervisor.health.message)
        with self._lock:
            if self._local is None or self._local.base_url != url:
                self._local = EngineClient(url)
            return self._local

    def health(self) -> wire.Health:
        """Starting, loading, ready or failed, and in words why it is not ready."""
        try:
            told = self.client.health()
        except EngineUnavailable as nobody:
            return wire.Health("starting" if self._supervisor else "failed", str(nobody))
        except EngineRefused as no:
            return wire.Health("failed", self._plainer(no).message)
        if other := self._other_schema(told):
            return wire.Health("failed", other)
        return told

    def submit(
        self,
        prompt: str,
        sampling: Sampling = wire.DEFAULT_SAMPLING,
        model: str | None = None,
        patience_s: float = PATIENCE_S,
        serving: Serving = wire.DEFAULT_SERVING,
        lane: str | None = None,
    ) -> str:
        """Start a run and return its id; an engine that is starting or loading is waited for. `lane` is the key of a
        reservation.

        Raises EngineRefused (the message is for the person who asked) or EngineUnavailable.
        """
        deadline = time.monotonic() + patience_s
        self._refuse_other_schema()
        while True:
            try:
                return self.client.submit(prompt, sampling, model, serving, lane)
            except EngineUnavailable:
                if time.monotonic() > deadline:
                    raise
            except EngineRefused as no:
                if no.code != "engine_loading" or time.monotonic() > deadline:
                    raise self._plainer(no) from no
            time.sleep(0.1)

    def cancel(self, run_id: str) -> None:
        """Ask a run to stop. One that is over, or that no engine knows any more, needs no stopping."""
        try:
            self.client.cancel(run_id)
        except EngineUnavailable:
            pass
        except EngineRefused as no:
            if no.code != "unknown_run":
                raise

    def delete(self, run_ids: list[str]) -> None:
        """Delete runs for whoever asked for them: those that still go on are stopped, and none is shown again.

        Raises `sqlite3.Error` or `OSError`.
        """
        self.hubs.forget(run_ids)
        self.store.delete(run_ids)
        for run_id in run_ids:
            with suppress(EngineRefused):
                self.cancel(run_id)

    def run(self, run_id: str) -> Run | None:
        """A run's record as far as it is known, from wherever it is held; None if it is held nowhere.

        Raises EngineUnavailable if it could only be at an engine that does not answer.
        """
        if self.hubs.is_deleted(run_id):
            return None
        hub = self.hubs.held(run_id)
        record = hub.record if hub and hub.ended else self.store.load(run_id)
        if record is not None:
            return _read(record)
        try:
            run = self.client.run(run_id)
        except EngineRefused as no:
            if no.code == "unknown_run":
                return None
            raise
        except EngineUnavailable:
            if hub and hub.lines:
                return _read(hub.record)
            raise
        if run.end is not None:
            self.store.save(run_id, dumps(run))
        return run

    @property
    def place(self) -> str | None:
        """Host and port of an engine elsewhere, without what else its address holds; None for our own."""
        return place_of(self._remote.base_url) if self._remote else None

    def _other_schema(self, told: wire.Health) -> str | None:
        """What is to be said of an engine whose records this app cannot read."""
        if told.schema in (None, SCHEMA):
            return None
        return (
            f"The engine at {self.place} writes records of schema {told.schema}, and this app reads {SCHEMA}: "
            "the two need the same version of Two Speeds."
        )

    def _refuse_other_schema(self) -> None:
        """Before the first run at an engine elsewhere; one that does not answer, the run itself finds out."""
        if self._remote is None or self._is_readable:
            return
        try:
            told = self._remote.health()
        except (EngineUnavailable, EngineRefused):
            return
        if other := self._other_schema(told):
            raise EngineRefused("other_schema", other, 409)
        self._is_readable = True

    def _plainer(self, no: EngineRefused) -> EngineRefused:
        """A refusal in words for whoever looks at a page and sends no header themselves."""
        if no.code != "unauthorized" or self._remote is None:
            return no
        message = (
            f"The engine at {self.place} does not accept this app's token. Whoever runs the app sets it, as "
            "TWOSPEEDS_ENGINE_TOKEN."
        )
        return EngineRefused(no.code, message, no.status)

    async def lines(self, run_id: str, start: int) -> AsyncGenerator[bytes, None]:
        """The run's log from event `start` on as JSON lines, for the hubs."""
        async with aclosing(self.client.lines(run_id, start)) as lines:
            async for line in lines:
                yield line


def _read(record: bytes) -> Run | None:
    try:
        return loads(record)
    except RecordError:
        return None  # kept by a version that wrote another schema, or damaged on the disk


@st.cache_resource(show_spinner=False, on_release=EngineLink.close)
def engine_link() -> EngineLink:
    """The process's one link, started when first asked for.

    A cached resource and not a module's variable: a module that is edited while the app runs is imported anew, and
    would start a second engine.
    """
    link = EngineLink(os.environ.get("TWOSPEEDS_ENGINE_URL"), os.environ.get("TWOSPEEDS_ENGINE_TOKEN"))
    link.start()
    return link
