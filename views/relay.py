"""The way of a live run into the browser: one WebSocket a viewer, on the page's own port.

`WS /twospeeds/runs/{id}?from=n` sends text messages, at most 30 a second:

    {"from": n, "events": [...]}                        the events from number n on
    {"end": true, "n": total}                           after the last one
    {"error": {"code": "...", "message": "..."}}        there is no such run

The browser counts what it holds, and after a cut comes back with that number: nothing is missed, nothing comes twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from urllib.parse import urlsplit

import msgspec
import streamlit as st
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from engine.serve.client import RUN_ID
from engine.serve.wire import Fault, Refusal, encode
from views import served_files
from views.engine_link import EngineLink, engine_link
from views.hub import RunHub

MESSAGES_PER_S = 30
MAX_EVENTS = 512
"""Events in one message: a long log that is replayed does not come as one block."""

_UNKNOWN = Fault(
    "unknown_run", "There is no such run here. It may be older than what is kept, or the address is wrong."
)


def routes(base: str, link: Callable[[], EngineLink] = engine_link) -> list[BaseRoute]:
    """Every route of the app that is not Streamlit's; `base` is the prefix that `server.baseUrlPath` asks for."""

    async def health(_: Request) -> Response:
        told = await run_in_threadpool(link().health)
        # Not what computes: anybody may ask this.
        said = {"status": told.status, "message": told.message}
        return Response(encode(said), media_type="application/json", headers={"Cache-Control": "no-store"})

    async def run(socket: WebSocket) -> None:
        await _relay(socket, link())

    prefix = f"{base}/{served_files.PREFIX}"
    return [
        Route(f"{prefix}/health", health),
        WebSocketRoute(f"{prefix}/runs/{{run_id}}", run),
        *served_files.routes(base),
    ]


async def _relay(socket: WebSocket, link: EngineLink) -> None:
    if not is_own_page(
        socket.headers.get("origin"), socket.headers.get("host"), st.get_option("server.corsAllowedOrigins")
    ):
        await socket.close(1008)  # before accept: the browser sees HTTP 403
        return
    await socket.accept()
    with suppress(WebSocketDisconnect):  # a viewer may leave at any moment
        await _serve(socket, link)
        if socket.client_state is WebSocketState.CONNECTED:
            await socket.close()


async def _serve(socket: WebSocket, link: EngineLink) -> None:
    run_id, start = socket.path_params["run_id"], socket.query_params.get("from", "0")
    if not RUN_ID.fullmatch(run_id):
        return await _refuse(socket, _UNKNOWN)
    if not (start.isascii() and start.isdecimal() and len(start) < 10):
        return await _refuse(socket, Fault("bad_start", "from must be a whole number, 0 or more."))
    hub = await link.hubs.open(run_id)
    leaving = asyncio.create_task(_until_left(socket))
    try:
        with hub.watched():
            await _send_log(socket, hub, int(start), leaving)
    finally:
        leaving.cancel()


async def _send_log(socket: WebSocket, hub: RunHub, position: int, leaving: asyncio.Task[None]) -> None:
    while not leaving.done():
        if hub.refusal is not None:
            return await _refuse(socket, hub.refusal)
        ended, held = hub.ended, len(hub.lines)  # in this order: the last event is there before the log has ended
        if position < held:
            upto = min(held, position + MAX_EVENTS)
            events = b",".join(hub.lines[position:upto])
            await socket.send_text(f'{{"from": {position}, "events": [{events.decode()}]}}')
            position = upto
            await asyncio.sleep(0 if ended else 1 / MESSAGES_PER_S)
        elif ended:
            return await socket.send_text(f'{{"end": true, "n": {held}}}')
        else:
            news = asyncio.create_task(hub.news())
            await asyncio.wait({news, leaving}, return_when=asyncio.FIRST_COMPLETED)
            news.cancel()
    return None


async def _until_left(socket: WebSocket) -> None:
    while (await socket.receive())["type"] != "websocket.disconnect":
        pass


async def _refuse(socket: WebSocket, fault: Fault) -> None:
    await socket.send_text(msgspec.json.encode(Refusal(fault)).decode())


def is_own_page(origin: str | None, host: str | None, allowed: Sequence[str] = ()) -> bool:
    """Whether a WebSocket comes from a page of this server: a browser lets any site open one, and says from where.

    Streamlit's own check would ask an outside service for this machine's address, so it is not used. A client that is
    no browser sends no origin.
    """
    if origin is None:
        return True
    return urlsplit(origin).netloc == host or origin.rstrip("/") in {one.rstrip("/") for one in allowed}
