"""One visitor of the app without a browser: a page over Streamlit's own websocket, and a run over the app's relay.

It sends what a browser would send and reads all that a browser would read: the page and its cookie, the script run, the
press of a form's button, the timers of fragments, the run's log, and the picture's word that the run has ended. A line
that breaks is taken up again as a page does it: with the session's id, and for a run from the events that are held.
What a browser draws, it does not.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from http.cookies import SimpleCookie
from types import TracebackType
from typing import TypeVar
from urllib.parse import parse_qs, urlsplit

import httpx
import msgspec
import websockets
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Delta_pb2 import Delta
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import ClientConnection

from engine.account.metrics import timings
from engine.account.record import Event, Run
from engine.account.record_file import decode_event

PATIENCE_S = 60.0
RETRY_S = 0.5
MAX_MESSAGE = 64 << 20
PICTURE = "twospeeds_flipbook"
_PAGE_DONE = ForwardMsg.ScriptFinishedStatus.FINISHED_SUCCESSFULLY
_PART_DONE = ForwardMsg.ScriptFinishedStatus.FINISHED_FRAGMENT_RUN_SUCCESSFULLY

_T = TypeVar("_T")


class SessionLost(ConnectionError):
    """The page's session cannot be taken up again, or nothing comes for it however long one waits."""


class Refused(RuntimeError):
    """The app answered the press of the button without a run."""


@dataclass
class Answer:
    """One run as its visitor got it."""

    run: Run
    seen_first_ns: int
    """From the press of the button to the first token in the visitor's hands."""

    @property
    def ttft_ns(self) -> int | None:
        """Arrival at the engine to the first token, by the engine's clock."""
        return timings(self.run).ttft_ns


@dataclass
class Session:
    """A page that stays open. `async with Session(url, "lab", "new=32") as page: await page.run()`"""

    url: str
    page_name: str
    query: str
    cookie: str = ""
    socket: ClientConnection | None = None
    bytes_read: int = 0
    reruns: int = 0
    """Of the whole page."""
    reconnections: int = 0
    """Lines that broke and were taken up again: the page's own and those of its runs."""
    _session_id: str = ""
    _lost: str = ""
    _button: str = ""
    _picture: tuple[str, str] = "", ""
    """The picture of the run in view, and the fragment that it stands in."""
    _enough: tuple[int, ...] = (_PAGE_DONE,)
    """Ends of a script run that are waited for; one that ends early for a rerun is followed by that rerun."""
    _done: asyncio.Event = field(default_factory=asyncio.Event)
    _moved: asyncio.Event = field(default_factory=asyncio.Event)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _timers: dict[str, asyncio.Task[None]] = field(default_factory=dict)

    async def __aenter__(self) -> Session:
        async with httpx.AsyncClient(trust_env=False, timeout=PATIENCE_S) as http:
            page = await http.get(f"{self.url}/{self.page_name}", headers={"Accept": "text/html"})
        self.cookie = "; ".join(f"{name}={one.value}" for name, one in SimpleCookie(page.headers["set-cookie"]).items())
        await self._connect()
        self._keep(asyncio.create_task(self._read()))
        await self.rerun()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
                        ) -> None:  # fmt: skip
        for task in self._tasks:
            task.cancel()
        if self.socket is not None:
            await self.socket.close()

    async def rerun(self, pressed: str = "") -> None:
        """Have the page's script run to its end, as after a press of the button with this id."""
        self._stop_timers(list(self._timers))
        await self._ask(_PAGE_DONE, pressed=pressed)

    async def run(self) -> Answer:
        """Press "Run it", and read the run's log to its end; again if a line broke on the press and lost it.

        Raises Refused, SessionLost.
        """
        pressed_ns = time.perf_counter_ns()
        while True:
            before = self.reconnections
            try:
                return await self._press(pressed_ns)
            except Refused:
                if self.reconnections == before:
                    raise

    async def _press(self, pressed_ns: int) -> Answer:
        before = self.run_id
        self._moved.clear()
        drawing = asyncio.create_task(self.rerun(self._button))
        moving = asyncio.create_task(self._moved.wait())
        # As a browser does: the log is opened as soon as the page has its run, whatever else is still being drawn.
        await asyncio.wait({drawing, moving}, return_when=asyncio.FIRST_COMPLETED)
        moving.cancel()
        if self.run_id == before or self.run_id is None:
            await drawing
            raise Refused("no run came of it")
        answer, _ = await asyncio.gather(self._follow(self.run_id, pressed_ns), drawing)
        await self._ask(_PAGE_DONE, _PART_DONE, ended=self.run_id)  # as the picture tells of the end
        return answer

    @property
    def run_id(self) -> str | None:
        """The run in the page's address."""
        return parse_qs(self.query).get("run", [None])[0]

    async def _follow(self, run_id: str, pressed_ns: int) -> Answer:
        events: list[Event] = []
        first_ns, heard = 0, time.monotonic()
        while time.monotonic() < heard + PATIENCE_S:
            path = f"/twospeeds/runs/{run_id}?from={len(events)}"
            socket = await self._patiently(partial(self._line, path))
            with suppress(websockets.ConnectionClosed):
                async for text in socket:
                    message, heard = json.loads(text), time.monotonic()
                    events += [decode_event(msgspec.json.encode(event)) for event in message.get("events", [])]
                    if not first_ns and any(event.get("emitted") for event in message.get("events", [])):
                        first_ns = time.perf_counter_ns() - pressed_ns
                    if message.get("end"):
                        await socket.close()
                        return Answer(Run(events), first_ns)
            self.reconnections += 1
        raise SessionLost("the run's log broke off")

    async def _connect(self) -> None:
        """Take the page's line up. The second place belongs to a token, which an app without log-in does not read."""
        known = ("PLACEHOLDER_AUTH_TOKEN", self._session_id) if self._session_id else ()
        self.socket = await self._line("/_stcore/stream", "streamlit", *known)

    async def _line(self, path: str, *protocols: str) -> ClientConnection:
        # A browser answers pings and sends none, so that it does not give up a server that is busy.
        return await websockets.connect(
            f"ws://{urlsplit(self.url).netloc}{path}", additional_headers={"Cookie": self.cookie}, ping_interval=None,
            subprotocols=[websockets.Subprotocol(one) for one in protocols] or None, max_size=MAX_MESSAGE, proxy=None,
        )  # fmt: skip

    async def _patiently(self, connect: Callable[[], Awaitable[_T]]) -> _T:
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                return await connect()
            except (OSError, websockets.InvalidHandshake, TimeoutError) as broken:
                if time.monotonic() > deadline:
                    raise SessionLost(str(broken)) from broken
            await asyncio.sleep(RETRY_S)

    async def _read(self) -> None:
        while not self._lost:
            assert self.socket is not None
            with suppress(websockets.ConnectionClosed):
                async for data in self.socket:
                    assert isinstance(data, bytes)
                    self.bytes_read += len(data)
                    self._take(ForwardMsg.FromString(data))
            try:
                await self._patiently(self._connect)
            except SessionLost as lost:
                self._lose(str(lost))
                return
            self.reconnections += 1
            if self._timers or not self._done.is_set():
                self._stop_timers(list(self._timers))
                await self._send()  # as a page does; a press that was under way is not among it

    def _lose(self, why: str) -> None:
        """Whoever waits is to wake up."""
        self._lost = why
        self._done.set()
        self._moved.set()

    def _take(self, message: ForwardMsg) -> None:
        kind = message.WhichOneof("type")
        if kind == "new_session":
            if self._session_id not in ("", message.new_session.initialize.session_id):
                self._lose("the app has opened another session")
            self._session_id = message.new_session.initialize.session_id
        elif kind == "script_finished":
            self.reruns += message.script_finished == _PAGE_DONE
            by_timers = message.script_finished == _PART_DONE and set(message.metadata.run.fragment_ids) <= set(
                self._timers
            )
            if message.script_finished in self._enough and not by_timers:
                self._done.set()
        elif kind == "page_info_changed":
            before, self.query = self.run_id, message.page_info_changed.query_string
            if self.run_id not in (None, before):
                self._moved.set()
        elif kind == "auto_rerun":
            self._start_timer(message.auto_rerun.fragment_id, message.auto_rerun.interval)
        elif kind == "stop_auto_rerun":
            self._stop_timers(list(message.stop_auto_rerun.fragment_ids))
        elif kind == "delta":
            self._see(message.delta)

    def _see(self, delta: Delta) -> None:
        """What is pressed, and what tells of the end of a run."""
        element = delta.new_element
        kind = element.WhichOneof("type")
        if kind == "button" and element.button.is_form_submitter and element.button.type == "primary":
            self._button = element.button.id
        elif kind == "bidi_component" and element.bidi_component.component_name == PICTURE:
            self._picture = element.bidi_component.id, delta.fragment_id

    def _start_timer(self, fragment: str, seconds: float) -> None:
        async def again_and_again() -> None:
            while True:
                await asyncio.sleep(seconds)
                await self._send(fragment=fragment)

        self._stop_timers([fragment])
        self._timers[fragment] = asyncio.create_task(again_and_again())
        self._keep(self._timers[fragment])

    def _stop_timers(self, fragments: Sequence[str]) -> None:
        for fragment in fragments:
            if (timer := self._timers.pop(fragment, None)) is not None:
                timer.cancel()

    async def _ask(self, *enough: int, pressed: str = "", ended: str | None = None) -> None:
        """Send what a person or the picture did, and wait until what follows has been drawn."""
        self._enough = enough
        self._done.clear()
        await self._send(pressed=pressed, ended=ended)
        for _ in range(2):
            with suppress(TimeoutError):
                await asyncio.wait_for(self._done.wait(), PATIENCE_S)
                break
            assert self.socket is not None
            await self.socket.close()  # nothing for a minute: take the line up anew, as a reload does
        if self._lost or not self._done.is_set():
            raise SessionLost(self._lost or "the script run did not end")

    async def _send(self, *, pressed: str = "", fragment: str = "", ended: str | None = None) -> None:
        message = BackMsg()
        state = message.rerun_script
        state.query_string, state.page_name = self.query, self.page_name
        state.fragment_id, state.is_auto_rerun = fragment, bool(fragment)
        if pressed:
            state.widget_states.widgets.add(id=pressed, trigger_value=True)
        if ended:
            state.fragment_id = self._picture[1]
            state.widget_states.widgets.add(id=self._picture[0], json_value=json.dumps({"ended": ended}))
        assert self.socket is not None
        with suppress(websockets.ConnectionClosed):  # what is sent while the line is broken is lost, as on a page
            await self.socket.send(message.SerializeToString())

    def _keep(self, task: asyncio.Task[None]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
