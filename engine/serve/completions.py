"""The OpenAI-compatible routes, so that ordinary clients and load tools can use the engine.

`POST /v1/completions` (streamed or whole) and `GET /v1/models`. What is not supported is refused by name where ignoring
it would change the answer. A client that hangs up cancels its request.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Collection
from contextlib import aclosing
from datetime import datetime
from typing import Any

import anyio
import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from engine.account.record import Error, Run, Sampling
from engine.loop.run_log import RunLog
from engine.serve import wire
from engine.serve.admission import Admission
from engine.serve.completion_text import Writer, choice
from engine.serve.faults import Refused, read_json
from engine.serve.streaming import tail

MAX_LOGPROBS = 5
"""As OpenAI's own limit; the record holds at least as many candidates."""

_NO_STREAM_CACHE = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


class StreamOptions(msgspec.Struct, frozen=True):
    """`include_usage`: send the token counts in a last chunk."""

    include_usage: bool | None = None


class CompletionRequest(msgspec.Struct, frozen=True):
    """OpenAI's fields and defaults; `top_k` and `ignore_eos` are the extensions that other engines share."""

    model: str
    prompt: str | list[Any]
    max_tokens: int | None = 16
    temperature: float | None = 1.0
    top_p: float | None = 1.0
    top_k: int | None = 0
    seed: int | None = None
    stop: str | list[str] | None = None
    logprobs: int | None = None
    stream: bool | None = False
    stream_options: StreamOptions | None = None
    ignore_eos: bool | None = False
    n: int | None = 1
    best_of: int | None = 1
    echo: bool | None = False
    suffix: str | None = None
    presence_penalty: float | None = 0.0
    frequency_penalty: float | None = 0.0
    logit_bias: dict[str, float] | None = None

    def text(self) -> str:
        """The prompt; a list of one text counts. Raises Refused."""
        if isinstance(self.prompt, str):
            return self.prompt
        if len(self.prompt) == 1 and isinstance(self.prompt[0], str):
            return self.prompt[0]
        raise Refused(
            400, "unsupported", "prompt must be one text; lists of several prompts or of token ids are not supported."
        )

    def sampling(self) -> Sampling:
        """The engine's settings; without a seed one is drawn, and the record says which."""
        return Sampling(
            temperature=_or(self.temperature, 1.0),
            top_k=_or(self.top_k, 0),
            top_p=_or(self.top_p, 1.0),
            seed=secrets.randbelow(2**31) if self.seed is None else self.seed,
            max_new_tokens=_or(self.max_tokens, 16),
            ignore_eos=bool(self.ignore_eos),
        )

    def stops(self) -> list[str]:
        """The texts to stop before. Raises Refused."""
        stops = [self.stop] if isinstance(self.stop, str) else self.stop or []
        if len(stops) > 4 or not all(stops):
            raise Refused(400, "bad_stop", "stop takes up to 4 texts, none of them empty.")
        return stops

    def check(self) -> None:
        """Raise Refused for what would have to be ignored."""
        if _or(self.n, 1) != 1 or _or(self.best_of, 1) != 1:
            raise Refused(
                400,
                "unsupported",
                "n and best_of must be 1: this engine answers with one completion a request for now.",
            )
        if self.logprobs is not None and not 0 <= self.logprobs <= MAX_LOGPROBS:
            raise Refused(400, "bad_logprobs", f"logprobs must be from 0 to {MAX_LOGPROBS}.")
        for name in ("echo", "suffix", "presence_penalty", "frequency_penalty", "logit_bias"):
            if getattr(self, name):
                raise Refused(400, "unsupported", f"{name} is not supported by this engine; leave it out.")


class CompletionRoutes:
    """Handlers of `/v1`."""

    def __init__(self, admission: Admission) -> None:
        self._admission = admission

    def table(self) -> list[Route]:
        """Path, handler, method."""
        return [Route("/v1/completions", self.complete, methods=["POST"]), Route("/v1/models", self.models)]

    async def models(self, _: Request) -> Response:
        """The loaded models; `created` is when they were loaded."""
        host = self._admission.host
        entry = {"object": "model", "created": host.loaded_at, "owned_by": "two-speeds"}
        return _json({"object": "list", "data": [{"id": name, **entry} for name in host.engine.models]})

    async def complete(self, request: Request) -> Response:
        """One completion, whole or as server-sent events."""
        asked = await read_json(request, CompletionRequest)
        asked.check()
        writer = Writer(asked.stops(), self._hidden_ids(asked))
        log = await self._admission.submit(asked.model, asked.text(), asked.sampling(), needs_viewers=False)
        if asked.stream:
            return _CancellingStream(log, _server_sent(log, writer, asked))
        return await _whole(request, log, writer, asked)

    def _hidden_ids(self, asked: CompletionRequest) -> Collection[int]:
        return () if asked.ignore_eos else self._admission.host.engine.tokenizer.eos_ids


class _CancellingStream(StreamingResponse):
    """Server-sent events of one run; the run is cancelled if it has not ended when the stream does."""

    def __init__(self, log: RunLog, content: AsyncIterator[bytes]) -> None:
        super().__init__(content, media_type="text/event-stream", headers=_NO_STREAM_CACHE)
        self._log = log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._log.cancel()


async def _server_sent(log: RunLog, writer: Writer, asked: CompletionRequest) -> AsyncIterator[bytes]:
    frame = _frame(log, asked.model)
    async with aclosing(tail(log, 0)) as batches:
        async for batch in batches:
            writer.take(batch)
            piece = writer.piece()
            if piece.text or piece.finish_reason:
                yield _event({**frame, "choices": [choice(piece, asked.logprobs)]})
            if writer.finish_reason:
                break
    if isinstance(failure := log.run.end, Error) and not writer.finish_reason:
        yield _event({"error": {"code": failure.code, "message": failure.message}})
    elif asked.stream_options and asked.stream_options.include_usage:
        yield _event({**frame, "choices": [], "usage": _usage(log.run, writer)})
    yield b"data: [DONE]\n\n"


async def _whole(request: Request, log: RunLog, writer: Writer, asked: CompletionRequest) -> Response:
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(_stop_when_left, request, group.cancel_scope)
            async with aclosing(tail(log, 0)) as batches:
                async for batch in batches:
                    writer.take(batch)
                    if writer.finish_reason:
                        break
            group.cancel_scope.cancel()
    finally:
        log.cancel()
    if isinstance(failure := log.run.end, Error):
        raise Refused(500, failure.code, failure.message)
    body = {
        **_frame(log, asked.model),
        "choices": [choice(writer.piece(), asked.logprobs)],
        "usage": _usage(log.run, writer),
    }
    return _json(body)


async def _stop_when_left(request: Request, scope: anyio.CancelScope) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


def _frame(log: RunLog, model: str) -> dict[str, Any]:
    """What every chunk repeats. The id carries the run's, so that `/runs/{id}` shows what happened."""
    return {"id": f"cmpl-{log.run_id}", "object": "text_completion", "created": _created(log.run), "model": model}


def _created(run: Run) -> int:
    return int(datetime.fromisoformat(run.header.created).timestamp())


def _usage(run: Run, writer: Writer) -> dict[str, int]:
    prompt, new = len(run.header.prompt_tokens), writer.n_tokens
    return {"prompt_tokens": prompt, "completion_tokens": new, "total_tokens": prompt + new}


def _or(value: Any, default: Any) -> Any:
    """A JSON null means the default."""
    return default if value is None else value


def _event(body: object) -> bytes:
    return b"data: " + msgspec.json.encode(body) + b"\n\n"


def _json(body: object) -> Response:
    return Response(wire.encode(body), media_type="application/json")
