"""The app's copy of runs' logs: each run is read from the engine once, however many browsers watch it.

A hub reads while somebody watches and stops when nobody does; the engine counts open streams, so it knows how long a
run has gone unwatched. What a hub holds outlives the engine: a run whose engine died ends here with an error event.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Collection, Iterator
from contextlib import aclosing, contextmanager
from typing import Protocol

import msgspec

from engine.account.record import SCHEMA, Error
from engine.account.record_file import encode_event
from engine.serve.client import EngineRefused, EngineUnavailable
from engine.serve.wire import Fault

KEEP_HUBS = 64
"""Logs held in memory; beyond it the oldest that nobody watches go. The store and the engine have them, too."""

RETRY_S = 0.2
GIVE_UP_S = 30.0
"""How long an engine elsewhere may be out of reach before its run counts as lost."""

_LOST = (
    "The engine stopped before this run ended, so the rest of it is lost. What arrived until then is shown. "
    "The engine is started again by itself: run the prompt once more."
)
_UNREACHABLE = "The engine does not answer, so this run cannot be read now. Try again in a moment."
_DELETED = Fault("unknown_run", "This run has been deleted.")


class _Label(msgspec.Struct):
    """As much of an event as a relay needs."""

    index: int
    event: str


_label = msgspec.json.Decoder(_Label)


class Source(Protocol):
    """Where logs come from."""

    @property
    def generation(self) -> int | None:
        """Number of the engine process that answers now; None while none does."""

    @property
    def supervised(self) -> bool:
        """Whether the engine is ours, so that its end is known at once."""

    def lines(self, run_id: str, start: int) -> AsyncGenerator[bytes, None]:
        """The run's events from `start` on as JSON lines; raises EngineUnavailable, EngineRefused."""


class RunHub:
    """One run's log so far. For the event loop's thread; `lines` may be read from any."""

    def __init__(self, run_id: str, source: Source, on_end: Callable[[RunHub], None] = lambda hub: None) -> None:
        self.run_id = run_id
        self.lines: list[bytes] = []
        self.ended = False
        self.refusal: Fault | None = None
        """Why there is no log at all; None while there may be one."""
        self.viewers = 0
        self._source = source
        self._on_end = on_end
        self._generation: int | None = None
        self._following: asyncio.Task[None] | None = None
        self._news = asyncio.Event()

    @classmethod
    def of_record(cls, run_id: str, record: bytes, source: Source) -> RunHub:
        """A hub of a run that is over, from its saved form."""
        hub = cls(run_id, source)
        hub.lines = [bytes(event) for event in msgspec.json.decode(record, type=_Saved).events]
        hub.ended = True
        return hub

    @classmethod
    def refused(cls, run_id: str, why: Fault, source: Source) -> RunHub:
        """A hub that has no log to show."""
        hub = cls(run_id, source)
        hub.refusal = why
        return hub

    @property
    def record(self) -> bytes:
        """The saved form of what is held."""
        return b'{"schema": ' + msgspec.json.encode(SCHEMA) + b', "events": [\n' + b",\n".join(self.lines) + b"\n]}\n"

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Read the engine's log for as long as the context lasts."""
        self.viewers += 1
        if self._following is None and not self.ended:
            self._following = asyncio.create_task(self._follow())
        try:
            yield
        finally:
            self.viewers -= 1
            if not self.viewers and self._following is not None:
                self._following.cancel()
                self._following = None

    async def news(self) -> None:
        """Wait for the next change."""
        await self._news.wait()

    async def _follow(self) -> None:
        out_of_reach_s = 0.0
        while not self.ended:
            held = len(self.lines)
            try:
                async with aclosing(self._source.lines(self.run_id, held)) as lines:
                    async for line in lines:
                        self._take(line)
            except EngineRefused as no:
                self._refuse(Fault(no.code, no.message))
                return
            except EngineUnavailable:
                pass
            if self.ended:
                return
            out_of_reach_s = 0.0 if len(self.lines) > held else out_of_reach_s + RETRY_S
            if self._is_lost() or out_of_reach_s > GIVE_UP_S:
                self._refuse(Fault("engine_unavailable", _UNREACHABLE))
                return
            await asyncio.sleep(RETRY_S)

    def _is_lost(self) -> bool:
        """Another process, or none, where one had begun to tell this run."""
        return self._source.supervised and self._generation is not None and self._source.generation != self._generation

    def _take(self, line: bytes) -> None:
        try:
            label = _label.decode(line)
        except msgspec.DecodeError as cut:
            raise EngineUnavailable("a line of the log arrived in part") from cut
        if label.index != len(self.lines):
            raise EngineUnavailable(f"event {label.index} came in the place of event {len(self.lines)}")
        self._generation = self._source.generation
        self.lines.append(line)
        if label.event in ("end", "error"):
            self._end()
        self._ring()

    def _refuse(self, fault: Fault) -> None:
        """Nothing more will come: an error event ends a log that has begun; one that has not is refused as a whole."""
        if self.lines:
            self.lines.append(encode_event(Error(len(self.lines), "engine_lost", _LOST)))
            self._end()
        else:
            self.refusal = fault
        self._ring()

    def _end(self) -> None:
        self.ended = True
        self._on_end(self)

    def _ring(self) -> None:
        self._news.set()
        self._news = asyncio.Event()


class _Saved(msgspec.Struct):
    events: list[msgspec.Raw]


class Hubs:
    """Run id -> hub."""

    def __init__(self, source: Source, load: Callable[[str], bytes | None], save: Callable[[str, bytes], bool]) -> None:
        self._source = source
        self._load = load
        self._save = save
        self._hubs: dict[str, RunHub] = {}
        self._saving: set[asyncio.Task[bool]] = set()
        self._deleted: set[str] = set()

    def forget(self, run_ids: Collection[str]) -> None:
        """Never show or keep these runs again, though the engine may still have them for a while. Any thread."""
        self._deleted.update(run_ids)
        for run_id in run_ids:
            self._hubs.pop(run_id, None)

    def is_deleted(self, run_id: str) -> bool:
        """Whether the person whose run it was has deleted it. Any thread."""
        return run_id in self._deleted

    def held(self, run_id: str) -> RunHub | None:
        """The hub if there is one already. Any thread."""
        return self._hubs.get(run_id)

    async def open(self, run_id: str) -> RunHub:
        """The hub of this run: the one that is there, one of a kept record, or a new one that asks the engine."""
        if self.is_deleted(run_id):
            return RunHub.refused(run_id, _DELETED, self._source)
        if (hub := self._hubs.get(run_id)) and hub.refusal is None:
            return hub
        record = await asyncio.to_thread(self._load, run_id)
        if (hub := self._hubs.get(run_id)) and hub.refusal is None:
            return hub  # somebody else opened it meanwhile
        hub = RunHub.of_record(run_id, record, self._source) if record else RunHub(run_id, self._source, self._keep)
        self._hubs[run_id] = hub
        self._drop_oldest()
        return hub

    def _keep(self, hub: RunHub) -> None:
        if self.is_deleted(hub.run_id):
            return
        task = asyncio.create_task(asyncio.to_thread(self._save, hub.run_id, hub.record))
        self._saving.add(task)
        task.add_done_callback(self._saving.discard)

    def _drop_oldest(self) -> None:
        idle = [run_id for run_id, hub in self._hubs.items() if not hub.viewers]
        for run_id in idle[: max(0, len(self._hubs) - KEEP_HUBS)]:
            del self._hubs[run_id]
