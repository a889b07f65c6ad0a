"""One visitor of the app without a browser: a page over Streamlit's own websocket, and a run over the app's relay.

It sends what a browser would send and reads all that a browser would read: the page and its cookie, the script run, the
press of a form's button, the timers of fragments, the run's log, and the last rerun when the run has ended. What a
browser draws, it does not.
"""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from types import TracebackType
from urllib.parse import parse_qs, urlsplit

import httpx
import msgspec
import websockets
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import ClientConnection

from engine.account.metrics import timings
from engine.account.record import Run
from engine.account.record_file import decode_event

PATIENCE_S = 60.0
MAX_MESSAGE = 64 << 20
_SCRIPT_DONE = ForwardMsg.ScriptFinishedStatus.FINISHED_SUCCESSFULLY
_SCRIPT_ENDS = (_SCRIPT_DONE, ForwardMsg.ScriptFinishedStatus.FINISHED_EARLY_FOR_RERUN)


class SessionLost(ConnectionError):
    """The page's connection broke, or nothing more came over it."""


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
    _button: str = ""
    _done: asyncio.Event = field(default_factory=asyncio.Event)
    _moved: asyncio.Event = field(default_factory=asyncio.Event)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _timers: dict[str, asyncio.Task[None]] = field(default_factory=dict)

    async def __aenter__(self) -> Session:
        async with httpx.AsyncClient(trust_env=False, timeout=PATIENCE_S) as http:
            page = await http.get(f"{self.url}/{self.page_name}", headers={"Accept": "text/html"})
        self.cookie = "; ".join(f"{name}={one.value}" for name, one in SimpleCookie(page.headers["set-cookie"]).items())
        self.socket = await websockets.connect(
            f"ws://{urlsplit(self.url).netloc}/_stcore/stream", additional_headers={"Cookie": self.cookie},
            subprotocols=[websockets.Subprotocol("streamlit")], max_size=MAX_MESSAGE, proxy=None,
        )  # fmt: skip
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
        self._done.clear()
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        await self._send(pressed=pressed)
        try:
            await asyncio.wait_for(self._done.wait(), PATIENCE_S)
        except TimeoutError:
            raise SessionLost("the script run did not end") from None

    async def run(self) -> Answer:
        """Press "Run it", and read the run's log to its end. Raises Refused, SessionLost."""
        before, pressed_ns = self.run_id, time.perf_counter_ns()
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
        await self.rerun()  # the picture tells of the end, and the page is drawn again
        return answer

    @property
    def run_id(self) -> str | None:
        """The run in the page's address."""
        return parse_qs(self.query).get("run", [None])[0]

    async def _follow(self, run_id: str, pressed_ns: int) -> Answer:
        events, first_ns = [], 0
        address = f"ws://{urlsplit(self.url).netloc}/twospeeds/runs/{run_id}?from=0"
        async with websockets.connect(
            address, additional_headers={"Cookie": self.cookie}, max_size=MAX_MESSAGE, proxy=None
        ) as socket:
            async for text in socket:
                message = json.loads(text)
                events += [decode_event(msgspec.json.encode(event)) for event in message.get("events", [])]
                if not first_ns and any(event.get("emitted") for event in message.get("events", [])):
                    first_ns = time.perf_counter_ns() - pressed_ns
                if message.get("end"):
                    return Answer(Run(events), first_ns)
        raise SessionLost("the run's log broke off")

    async def _read(self) -> None:
        assert self.socket is not None
        async for data in self.socket:
            assert isinstance(data, bytes)
            self.bytes_read += len(data)
            self._take(ForwardMsg.FromString(data))

    def _take(self, message: ForwardMsg) -> None:
        kind = message.WhichOneof("type")
        if kind == "script_finished" and message.script_finished in _SCRIPT_ENDS:
            # One that ends early for a rerun is followed by that rerun.
            if message.script_finished == _SCRIPT_DONE:
                self.reruns += 1
                self._done.set()
        elif kind == "page_info_changed":
            before, self.query = self.run_id, message.page_info_changed.query_string
            if self.run_id not in (None, before):
                self._moved.set()
        elif kind == "auto_rerun":
            self._start_timer(message.auto_rerun.fragment_id, message.auto_rerun.interval)
        elif kind == "delta" and message.delta.new_element.WhichOneof("type") == "button":
            button = message.delta.new_element.button
            if button.is_form_submitter and button.type == "primary":
                self._button = button.id

    def _start_timer(self, fragment: str, seconds: float) -> None:
        async def again_and_again() -> None:
            while True:
                await asyncio.sleep(seconds)
                await self._send(fragment=fragment)

        if (old := self._timers.pop(fragment, None)) is not None:
            old.cancel()
        self._timers[fragment] = asyncio.create_task(again_and_again())
        self._keep(self._timers[fragment])

    async def _send(self, *, pressed: str = "", fragment: str = "") -> None:
        message = BackMsg()
        state = message.rerun_script
        state.query_string, state.page_name = self.query, self.page_name
        state.fragment_id, state.is_auto_rerun = fragment, bool(fragment)
        if pressed:
            state.widget_states.widgets.add(id=pressed, trigger_value=True)
        assert self.socket is not None
        try:
            await self.socket.send(message.SerializeToString())
        except websockets.ConnectionClosed as closed:
            raise SessionLost(str(closed)) from closed

    def _keep(self, task: asyncio.Task[None]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
