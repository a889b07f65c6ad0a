"""The engine, asked over HTTP: what pages and programs use instead of touching a model.

Nothing here imports torch. One client may be shared by threads (httpx.Client is thread-safe).
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Iterator
from types import TracebackType
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx
import msgspec

from engine.account.record import Event, ModelShape, Run, Sampling, Serving
from engine.account.record_file import decode_event, loads
from engine.account.trace_record import TraceRecord
from engine.certificates import certificates
from engine.loop.scheduler import BatchRow
from engine.serve import wire
from engine.serve.lines import LineCutter

_T = TypeVar("_T")

RUN_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")

_ANSWER = httpx.Timeout(30.0, connect=3.0)
_LOADING = httpx.Timeout(180.0, connect=3.0)
"""The first run of a model that is not here yet waits until it is loaded."""
_TRACE = httpx.Timeout(120.0, connect=3.0)
"""A replay with instruments waits for a moment between requests and is many times slower than the run."""

_STREAM = httpx.Timeout(60.0, connect=3.0)
"""A stream whose request waits in the queue still carries an empty line every 15 seconds."""

_POOL = httpx.Limits(max_connections=100, max_keepalive_connections=20)


class EngineUnavailable(ConnectionError):
    """Nobody answers at the engine's address, or the connection broke in mid-answer."""


class EngineRefused(ValueError):
    """The engine answered and said no: `code` for programs, `message` for people, `status` as in HTTP."""

    def __init__(self, code: str, message: str, status: int) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status


class EngineClient:
    """Calls of one engine server. Every method raises `EngineUnavailable` or `EngineRefused`."""

    def __init__(self, base_url: str, token: str | None = None, timeout: httpx.Timeout = _ANSWER) -> None:
        self.base_url = base_url.rstrip("/")
        self._headers = {b"Authorization": f"Bearer {token}".encode()} if token else {}
        # trust_env=False: a proxy set for the outside world has no business between two processes of one machine.
        self._http = httpx.Client(
            base_url=self.base_url, headers=self._headers, timeout=timeout, trust_env=False, verify=certificates()
        )

    def submit(
        self, prompt: str, sampling: Sampling = wire.DEFAULT_SAMPLING, model: str | None = None,
        serving: Serving = wire.DEFAULT_SERVING, lane: str | None = None,
    ) -> str:  # fmt: skip
        """Start a run and return its id without waiting for a token; `lane` is the key of a reservation."""
        body = wire.encode(wire.RunRequest(prompt, sampling, model, serving, lane))
        return self._ask("POST", "/runs", wire.RunAccepted, content=body, timeout=_LOADING).run_id

    def events(self, run_id: str, start: int = 0) -> Iterator[Event]:
        """The run's events from number `start` on, as they happen, until the run ends."""
        url = _path(run_id, "/events")
        try:
            with self._http.stream("GET", url, params={"from": start}, timeout=_STREAM) as answer:
                if answer.is_error:
                    answer.read()
                    raise refusal(answer)
                cutter = LineCutter()
                for chunk in answer.iter_bytes():
                    for line in cutter.feed(chunk):
                        yield decode_event(line)
        except httpx.TransportError as broken:
            raise _unavailable(self.base_url, broken) from broken

    async def lines(self, run_id: str, start: int = 0) -> AsyncGenerator[bytes, None]:
        """The same stream for an event loop, as undecoded JSON lines: what a relay passes on."""
        url = _path(run_id, "/events")
        try:
            async with self.asynchronous() as http, http.stream("GET", url, params={"from": start}) as answer:
                if answer.is_error:
                    await answer.aread()
                    raise refusal(answer)
                cutter = LineCutter()
                async for chunk in answer.aiter_bytes():
                    for line in cutter.feed(chunk):
                        yield line
        except httpx.TransportError as broken:
            raise _unavailable(self.base_url, broken) from broken

    def asynchronous(self, limits: httpx.Limits = _POOL) -> httpx.AsyncClient:
        """Connections of an event loop's own to the same engine, with the same token; the caller closes them."""
        return httpx.AsyncClient(
            base_url=self.base_url, headers=self._headers, timeout=_STREAM, limits=limits, trust_env=False,
            verify=certificates(),
        )  # fmt: skip

    def run(self, run_id: str) -> Run:
        """The run's record so far; `run.end` tells whether it is whole."""
        return loads(self._send("GET", _path(run_id)).content)

    def cancel(self, run_id: str) -> None:
        """Ask the run to stop; it ends within one step. Asking twice, or too late, does no harm."""
        self._send("POST", _path(run_id, "/cancel"))

    def trace(self, run_id: str, layer: int, head: int) -> TraceRecord:
        """The instrumented second pass over a finished run's tokens; the engine does it between requests."""
        body = wire.encode(wire.TraceRequest(layer, head))
        return self._ask("POST", _path(run_id, "/trace"), TraceRecord, content=body, timeout=_TRACE)

    def models(self) -> list[ModelShape]:
        """What is loaded."""
        return self._ask("GET", "/models", wire.ModelList).models

    def names(self) -> list[str]:
        """Every name that a run may ask for, loaded or not, the engine's own model first."""
        return self._ask("GET", "/models", wire.ModelList).names

    def batch(self) -> list[BatchRow]:
        """What is being computed and what waits, now."""
        return self.batch_table().rows

    def batch_table(self) -> wire.BatchTable:
        """The same, with until when the engine is reserved, if it is."""
        return self._ask("GET", "/batch", wire.BatchTable)

    def reserve(self, seconds: float) -> wire.Reservation:
        """Have the engine for one's own runs alone, for so long at most."""
        return self._ask(
            "POST", "/reservation", wire.Reservation, content=wire.encode(wire.ReservationRequest(seconds))
        )

    def give_back(self, key: str) -> None:
        """End a reservation before its time."""
        self._send("POST", "/reservation/end", content=wire.encode(wire.ReservationEnd(key)))

    def steps(self, start: int = 0) -> wire.StepTable:
        """What each step did, from number `start` on as far as it is kept."""
        return self._ask("GET", "/steps", wire.StepTable, params={"from": start})

    def health(self) -> wire.Health:
        """Whether the engine can compute, and if not why."""
        return self._ask("GET", "/health", wire.Health)

    def close(self) -> None:
        """Give back the connections."""
        self._http.close()

    def __enter__(self) -> EngineClient:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _ask(self, method: str, path: str, answer_type: type[_T], **request: Any) -> _T:
        answer = self._send(method, path, **request)
        try:
            return msgspec.json.decode(answer.content, type=answer_type)
        except msgspec.DecodeError as odd:
            place = place_of(self.base_url)
            raise EngineUnavailable(f"What answers at {place} is not a Two Speeds engine: {odd}") from odd

    def _send(self, method: str, path: str, **request: Any) -> httpx.Response:
        headers = {"Content-Type": "application/json"} if "content" in request else None
        try:
            answer = self._http.request(method, path, headers=headers, **request)
        except httpx.TransportError as broken:
            raise _unavailable(self.base_url, broken) from broken
        if answer.is_error:
            raise refusal(answer)
        return answer


def _path(run_id: str, what: str = "") -> str:
    # An id may come from an address that somebody typed; one that no engine gives out never becomes part of a path.
    if not RUN_ID.fullmatch(run_id):
        raise EngineRefused("unknown_run", "This is not the id of a run.", 404)
    return f"/runs/{run_id}{what}"


def _unavailable(base_url: str, broken: httpx.TransportError) -> EngineUnavailable:
    return EngineUnavailable(f"The engine at {place_of(base_url)} does not answer ({type(broken).__name__}).")


def place_of(url: str) -> str:
    """Host and port of an address, for people: a name and a password in it are not."""
    return urlsplit(url).netloc.rpartition("@")[2]


def refusal(answer: httpx.Response) -> EngineRefused:
    """What an answer that is an error says; its body has been read."""
    try:
        fault = msgspec.json.decode(answer.content, type=wire.Refusal).error
    except msgspec.DecodeError:
        return EngineRefused(
            "unexpected_answer", f"The engine answered with HTTP {answer.status_code}.", answer.status_code
        )
    return EngineRefused(fault.code, fault.message, answer.status_code)
