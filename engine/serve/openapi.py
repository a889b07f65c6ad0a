"""The server's description of itself, an OpenAPI 3.1 document at `/openapi.json`.

Summaries are the handlers' own docstrings and schemas come from the types that the handlers decode and encode, so that
the document cannot tell something else than the code; a test asks for every route, and sends what the document allows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

import engine
from engine.account.trace_record import TraceRecord
from engine.serve import wire
from engine.serve.chat import ChatRequest
from engine.serve.completions import CompletionRequest

JSON = "application/json"


class OpenAIFault(msgspec.Struct, frozen=True):
    """OpenAI's form of a refusal."""

    message: str
    type: str
    param: str | None
    code: str | None


class OpenAIRefusal(msgspec.Struct, frozen=True):
    """Body of every answer below `/v1` that is not a success."""

    error: OpenAIFault


@dataclass(frozen=True)
class Operation:
    """What a route takes and gives; None stands for a JSON object that has no type of its own here."""

    answer: type | None = None
    status: int = 200
    body: type | None = None
    media: tuple[str, ...] = (JSON,)
    query: tuple[str, ...] = ()
    """Names of the query's parameters: whole numbers, 0 or more, but for `model`."""


OPERATIONS = {
    "/health": Operation(wire.Health),
    "/models": Operation(wire.ModelList),
    "/batch": Operation(wire.BatchTable),
    "/steps": Operation(wire.StepTable, query=("from", "model")),
    "/reservation": Operation(wire.Reservation, 201, wire.ReservationRequest),
    "/reservation/end": Operation(None, 202, wire.ReservationEnd),
    "/metrics": Operation(media=("text/plain",)),
    "/runs": Operation(wire.RunAccepted, 201, wire.RunRequest),
    "/runs/{run_id}": Operation(),
    "/runs/{run_id}/events": Operation(media=("application/x-ndjson",), query=("from",)),
    "/runs/{run_id}/cancel": Operation(None, 202),
    "/runs/{run_id}/trace": Operation(TraceRecord, body=wire.TraceRequest),
    "/v1/models": Operation(),
    "/v1/completions": Operation(body=CompletionRequest, media=(JSON, "text/event-stream")),
    "/v1/chat/completions": Operation(body=ChatRequest, media=(JSON, "text/event-stream")),
    "/openapi.json": Operation(),
}
"""Path -> what the document says beside the handler's own words. Each path has one method."""


def with_document(routes: list[Route], needs_token: bool) -> list[Route]:
    """The routes, and one more that describes them all."""

    async def openapi(_: Request) -> Response:
        """This document."""
        return Response(written, media_type=JSON)

    every = [*routes, Route("/openapi.json", openapi)]
    written = msgspec.json.encode(document(every, needs_token))
    return every


def document(routes: Iterable[Route], needs_token: bool) -> dict[str, Any]:
    """The OpenAPI document of these routes; one that `OPERATIONS` lacks is described by its docstring alone."""
    types: list[Any] = [wire.Refusal, OpenAIRefusal]
    for operation in OPERATIONS.values():
        types += [one for one in (operation.answer, operation.body) if one is not None]
    schemas, components = msgspec.json.schema_components(types, ref_template="#/components/schemas/{name}")
    of_type = dict(zip(types, schemas, strict=True))
    told: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {"title": "Two Speeds engine", "version": engine.__version__},
        "paths": {route.path: {_method(route): _operation(route, of_type)} for route in routes},
        "components": {"schemas": components},
    }
    if needs_token:
        told["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        told["security"] = [{"token": []}]
    return told


def _method(route: Route) -> str:
    return next(one.lower() for one in sorted(route.methods or ()) if one != "HEAD")


def _operation(route: Route, of_type: dict[Any, Any]) -> dict[str, Any]:
    what = OPERATIONS.get(route.path, Operation())
    refusal = of_type[OpenAIRefusal if route.path.startswith("/v1/") else wire.Refusal]
    schema = {JSON: of_type.get(what.answer, {"type": "object"})}
    told: dict[str, Any] = {
        "summary": (route.endpoint.__doc__ or "").partition("\n")[0],
        "parameters": [*_path_parameters(route), *map(_query_parameter, what.query)],
        "responses": {
            str(what.status): {
                "description": "Success.",
                "content": {media: {"schema": schema.get(media, {"type": "string"})} for media in what.media},
            },
            "default": {"description": "Refused, and why.", "content": {JSON: {"schema": refusal}}},
        },
    }
    if what.body is not None:
        told["requestBody"] = {"required": True, "content": {JSON: {"schema": of_type[what.body]}}}
    return told


def _path_parameters(route: Route) -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in route.param_convertors
    ]


def _query_parameter(name: str) -> dict[str, Any]:
    schema = {"type": "string"} if name == "model" else {"type": "integer", "minimum": 0}
    return {"name": name, "in": "query", "schema": schema}
