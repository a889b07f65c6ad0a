"""What a fragment says reaches the browser in few portions: one in a tenth of a second at most, the last at its end.

Streamlit sends whatever there is every few milliseconds, and each portion makes its browser side draw all of the page
again, some 40 ms on a long lesson. That a run has begun is the first of them, and while the browser was busy with it,
the answer came. A run of the whole page is left as it is: the browser draws what there is while the rest is made.
"""

from __future__ import annotations

import asyncio
from collections import deque

from google.protobuf.message import DecodeError
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

STREAM = "/_stcore/stream"
"""How the address of Streamlit's own connection ends."""

PORTION_S = 0.1
"""A person does not see so short a wait."""


class Portions:
    """Middleware: Streamlit's connection goes through a `_Buffer`."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass everything on, what a fragment says in portions."""
        if scope["type"] != "websocket" or not scope["path"].endswith(STREAM):
            return await self._app(scope, receive, send)
        buffer = _Buffer(send)
        try:
            await self._app(scope, receive, buffer.send)
        finally:
            buffer.close()


class _Buffer:
    """What one connection has still to send, in order."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._kept: deque[Message] = deque()
        self._runs = False
        self._due: asyncio.Task[None] | None = None
        self._sending = asyncio.Lock()

    async def send(self, message: Message) -> None:
        """Keep what a running fragment says for the next portion; anything else goes at once, after what was kept.

        Raises what the sending of the portion before has raised.
        """
        self._kept.append(message)
        self._runs = _runs_after(message, self._runs)
        if self._due is not None and self._due.done():
            self._due = self._due.result()
        if self._runs:
            self._due = self._due or asyncio.create_task(self._send_later())
            return
        if self._due is not None and not self._sending.locked():
            self._due.cancel()  # the next run has a time of its own
            self._due = None
        await self._send_kept()

    def close(self) -> None:
        """The connection is no more: what was kept has nobody to go to, nor has an error in sending it."""
        if self._due is not None and not self._due.cancel() and not self._due.cancelled():
            self._due.exception()

    async def _send_later(self) -> None:
        await asyncio.sleep(PORTION_S)
        await self._send_kept()

    async def _send_kept(self) -> None:
        async with self._sending:
            while self._kept:  # more may come while one is sent
                await self._send(self._kept.popleft())


def _runs_after(message: Message, runs: bool) -> bool:
    """Whether a fragment runs after this message, if one ran before or not. One that begins again goes on."""
    try:
        said = ForwardMsg.FromString(message.get("bytes") or b"")
    except DecodeError:
        return runs
    match said.WhichOneof("type"):
        case "new_session":
            return bool(said.metadata.run.fragment_ids)
        case "script_finished":
            return said.script_finished == ForwardMsg.FINISHED_EARLY_FOR_RERUN
    return runs
