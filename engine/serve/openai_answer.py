"""How choices travel to an OpenAI client: whole, or as server-sent events while they are written.

Both kinds of answer, a completion and a chat reply, go the same way and differ in their form alone. A client that hangs
up cancels its runs.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any, Protocol

import anyio
import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from engine.serve import wire
from engine.serve.asked import Asked
from engine.serve.choices import Choices
from engine.serve.completion_text import Piece
from engine.serve.faults import Refused, openai_fault

_NO_STREAM_CACHE = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
_STILL_HERE = b":\n\n"
"""A comment, which readers of server-sent events skip."""


class Form(Protocol):
    """What a kind of answer looks like."""

    id_prefix: str
    whole_object: str
    chunk_object: str

    def whole(self, piece: Piece) -> dict[str, Any]:
        """An entry of `choices` that is complete."""

    def chunk(self, piece: Piece) -> dict[str, Any]:
        """An entry of `choices` in a stream."""


async def answer(request: Request, choices: Choices, form: Form, asked: Asked) -> Response:
    """The response to `request`; raises Refused (500) if a run fails before it could be sent."""
    if asked.stream:
        return _CancellingStream(choices, _server_sent(choices, form, asked))
    return await _whole(request, choices, form, asked)


def json_response(body: object) -> Response:
    """A body that is JSON."""
    return Response(wire.encode(body), media_type="application/json")


class _CancellingStream(StreamingResponse):
    """Server-sent events; what still runs when the stream ends, however it does, is cancelled."""

    def __init__(self, choices: Choices, content: AsyncIterator[bytes]) -> None:
        super().__init__(content, media_type="text/event-stream", headers=_NO_STREAM_CACHE)
        self._choices = choices

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._choices.cancel()


async def _server_sent(choices: Choices, form: Form, asked: Asked) -> AsyncIterator[bytes]:
    frame = _frame(choices, form.id_prefix, form.chunk_object, asked.model)
    if asked.wants_usage:
        frame["usage"] = None
    async with aclosing(choices.progress()) as turns:
        async for _ in turns:
            sent = [
                _event({**frame, "choices": [_entry(choices, index, form.chunk(piece))]})
                for index, piece in choices.pieces()
            ]
            yield b"".join(sent) or _STILL_HERE
    if failure := choices.failure:
        yield _event(openai_fault(500, failure.code, failure.message))
    elif asked.wants_usage:
        yield _event({**frame, "choices": [], "usage": choices.usage()})
    yield b"data: [DONE]\n\n"


async def _whole(request: Request, choices: Choices, form: Form, asked: Asked) -> Response:
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(_stop_when_left, request, group.cancel_scope)
            async with aclosing(choices.progress()) as turns:
                async for _ in turns:
                    pass
            group.cancel_scope.cancel()
    finally:
        choices.cancel()
    if failure := choices.failure:
        raise Refused(500, failure.code, failure.message)
    body = {
        **_frame(choices, form.id_prefix, form.whole_object, asked.model),
        "choices": [_entry(choices, index, form.whole(piece)) for index, piece in choices.pieces()],
        "usage": choices.usage(),
    }
    return json_response(body)


async def _stop_when_left(request: Request, scope: anyio.CancelScope) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


def _frame(choices: Choices, id_prefix: str, kind: str, model: str) -> dict[str, Any]:
    """What every chunk repeats. The id carries the first run's, so that `/runs/{id}` shows what happened."""
    run_id = choices.logs[0].run_id
    return {"id": f"{id_prefix}-{run_id}", "object": kind, "created": choices.created, "model": model}


def _entry(choices: Choices, index: int, form: dict[str, Any]) -> dict[str, Any]:
    """`run_id` is ours: it leads to the record of this choice."""
    return {"index": index, **form, "run_id": choices.logs[index].run_id}


def _event(body: object) -> bytes:
    return b"data: " + msgspec.json.encode(body) + b"\n\n"
