"""One prompt to an OpenAI-compatible server, its answer read as it streams and timed from here.

The clock starts when the request is handed to the network and is read whenever bytes have arrived. Where the server has
no `/v1/completions` its `/v1/chat/completions` is asked, which puts the prompt into a chat template of its own.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import msgspec

from engine.account.outside_record import OutsideEvent, OutsideRun, Route
from engine.account.record import Sampling
from engine.certificates import certificates
from engine.outside.log import OutsideLog
from engine.outside.server import OutsideError, OutsideServer
from engine.outside.sse import EventReader, Piece, reason_of

_PATHS: dict[Route, str] = {"completions": "/v1/completions", "chat": "/v1/chat/completions"}
_NO_SUCH_ROUTE = (404, 405, 501)
_MAX_ERROR_BYTES = 1 << 16


@dataclass(frozen=True)
class Patience:
    """Seconds: for a connection, for the next bytes, and for the whole answer."""

    connect_s: float = 5.0
    silent_s: float = 60.0
    whole_s: float = 600.0


PATIENCE = Patience()


async def ask(
    server: OutsideServer,
    prompt: str,
    sampling: Sampling,
    *,
    patience: Patience = PATIENCE,
    run_id: str | None = None,
    tell: Callable[[OutsideEvent], None] = lambda event: None,
) -> OutsideRun:
    """The whole run; `tell` hears each event when it happens. What goes wrong outside is the run's last event.

    A task that is cancelled ends the run as cancelled before it raises.
    """
    log = OutsideLog(server, prompt, sampling, run_id or secrets.token_hex(16), tell)
    timeout = httpx.Timeout(patience.silent_s, connect=patience.connect_s)
    headers = {**server.headers, "Accept-Encoding": "identity"}
    try:
        # trust_env=False: a proxy between would be in every time that is measured.
        async with asyncio.timeout(patience.whole_s):
            async with httpx.AsyncClient(
                headers=headers, timeout=timeout, trust_env=False, verify=certificates()
            ) as http:
                await _ask(http, server, log)
    except asyncio.CancelledError:
        log.cancel()
        raise
    except OutsideError as no:
        log.fail(no.code, no.message)
    except httpx.ReadTimeout:
        log.fail("too_slow", f"The outside engine sent nothing for {patience.silent_s:g} s.")
    except TimeoutError:
        log.fail("too_slow", f"The outside engine's answer took longer than {patience.whole_s:g} s.")
    except (httpx.HTTPError, httpx.InvalidURL) as broken:
        log.fail(*_broken(server, broken, begun=bool(log.run.events)))
    return log.run


async def _ask(http: httpx.AsyncClient, server: OutsideServer, log: OutsideLog) -> None:
    log.model = server.model or await _first_model(http, server)
    async with _accepted(http, server, log) as answer:
        log.begin()
        await _read(answer, log)


async def _first_model(http: httpx.AsyncClient, server: OutsideServer) -> str:
    """What the server lists first; raises `OutsideError`."""
    answer = await http.get(f"{server.url}/v1/models")
    if not answer.is_success:
        raise _refusal(server, answer.status_code, answer.content[:_MAX_ERROR_BYTES])
    try:
        return msgspec.json.decode(answer.content, type=_Models).data[0].id
    except (msgspec.DecodeError, IndexError, RecursionError, UnicodeDecodeError):
        message = f"The outside engine at {server.name} lists no model: its name must be given."
        raise OutsideError("no_model", message) from None


class _Model(msgspec.Struct, frozen=True):
    id: str


class _Models(msgspec.Struct, frozen=True):
    data: list[_Model]


@asynccontextmanager
async def _accepted(http: httpx.AsyncClient, server: OutsideServer, log: OutsideLog) -> AsyncIterator[httpx.Response]:
    """A stream that has begun, from the first route that the server has; raises `OutsideError`."""
    refusal: OutsideError | None = None
    for route in _PATHS:
        for with_usage in (True, False):
            request = http.build_request("POST", server.url + _PATHS[route], json=_body(log, route, with_usage))
            log.sent(route)
            answer = await http.send(request, stream=True)
            try:
                if answer.is_success:
                    yield answer
                    return
                why = await _beginning(answer)
            finally:
                await answer.aclose()
            # Older servers do not know the option that asks for a count at the end.
            if not (with_usage and answer.status_code in (400, 422) and b"stream_options" in why):
                break
        refusal = refusal or _refusal(server, answer.status_code, why)
        if answer.status_code not in _NO_SUCH_ROUTE:
            break
    assert refusal is not None
    raise refusal


def _body(log: OutsideLog, route: Route, with_usage: bool) -> dict[str, Any]:
    prompt, sampling = log.prompt, log.sampling
    text = {"prompt": prompt} if route == "completions" else {"messages": [{"role": "user", "content": prompt}]}
    return {
        "model": log.model,
        **text,
        "max_tokens": sampling.max_new_tokens,
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "seed": sampling.seed,
        "stream": True,
        **({"stream_options": {"include_usage": True}} if with_usage else {}),
    }


async def _beginning(answer: httpx.Response) -> bytes:
    """As much of an error's body as is worth reading."""
    body = b""
    async for data in answer.aiter_raw():
        body += data
        if len(body) > _MAX_ERROR_BYTES:
            break
    return body[:_MAX_ERROR_BYTES]


async def _read(answer: httpx.Response, log: OutsideLog) -> None:
    """Read the stream to its end; raises `OutsideError` for one that breaks off or makes no sense."""
    reader = EventReader()
    reason: str | None = None
    counts: tuple[int | None, int | None] = (None, None)
    async for piece, at_ns in _pieces(answer, reader, log):
        if piece.text:
            log.chunk(at_ns, piece.text)
        if piece.counts != (None, None):
            counts = piece.counts  # some servers count in every event: the last one is the whole
        reason = piece.finish_reason or reason
        if piece.done:
            reason = reason or "stop"
            break
    if reason is None:
        raise OutsideError("cut_off", "The outside engine's answer broke off in the middle.")
    if counts != (None, None):
        log.counted(*counts)
    log.end(reason)


async def _pieces(answer: httpx.Response, reader: EventReader, log: OutsideLog) -> AsyncIterator[tuple[Piece, int]]:
    """Each piece with the moment at which its last byte was here."""
    async for data in answer.aiter_raw():
        at_ns = log.now_ns()
        for piece in reader.feed(data):
            yield piece, at_ns
    for piece in reader.feed(b"\n"):  # a last line may lack its end
        yield piece, log.now_ns()


def _refusal(server: OutsideServer, status: int, body: bytes) -> OutsideError:
    if status in (401, 403):
        # Without the server's own words: some repeat the key in them.
        message = f"The outside engine at {server.name} does not accept the key that it was given (HTTP {status})."
        return OutsideError("key_refused", message)
    doing = "is busy" if status in (429, 503) else "refused"
    return OutsideError(
        "refused_outside", f"The outside engine at {server.name} {doing} (HTTP {status}): {reason_of(body)}"
    )


def _broken(server: OutsideServer, broken: Exception, *, begun: bool) -> tuple[str, str]:
    if begun:
        return "cut_off", "The connection to the outside engine broke in the middle of its answer."
    return "unreachable", f"The outside engine at {server.name} does not answer ({type(broken).__name__})."
