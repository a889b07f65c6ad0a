"""How the server says no: one JSON shape for every refusal, and never a traceback.

`{"error": {"code": "...", "message": "..."}}`, the code for programs, the message for people; under `/v1` with OpenAI's
`type` and `param` beside them. A body is read here, too, since most refusals are about bodies.
"""

from __future__ import annotations

import re
from typing import Any, TypeVar

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from engine.serve import wire

_T = TypeVar("_T")

_DRAIN_BYTES = 16 * wire.MAX_BODY_BYTES
"""A too large body is still read up to here: a client in mid-upload sees the refusal instead of a broken connection."""


class Refused(Exception):
    """Raised anywhere below a route; becomes the answer. `param` is the field of the body that is at fault, if any."""

    def __init__(self, status: int, code: str, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.param = param


def refusal(
    status: int,
    code: str,
    message: str,
    headers: dict[str, str] | None = None,
    *,
    path: str = "",
    param: str | None = None,
) -> Response:
    """The answer that says no, in the form that belongs to the path that was asked."""
    openai = path.startswith("/v1/")
    body = openai_fault(status, code, message, param) if openai else wire.Refusal(wire.Fault(code, message))
    return Response(wire.encode(body), status, headers=headers, media_type="application/json")


def openai_fault(status: int, code: str, message: str, param: str | None = None) -> dict[str, Any]:
    """OpenAI's form; where its clients look for a code of their own, they find that one."""
    kind = {401: "authentication_error", 429: "rate_limit_error"}.get(status)
    kind = kind or ("server_error" if status >= 500 else "invalid_request_error")
    return {"error": {"message": message, "type": kind, "param": param, "code": _OPENAI_CODES.get(code, code)}}


_OPENAI_CODES = {
    "unknown_model": "model_not_found",
    "prompt_too_long": "context_length_exceeded",
    "too_many_new_tokens": "context_length_exceeded",
    "unauthorized": "invalid_api_key",
}


async def read_json(request: Request, body_type: type[_T]) -> _T:
    """The request's JSON body as `body_type`; raises Refused (400, 413, 415)."""
    # A page of another site can post text/plain to a loopback port without asking; for JSON the browser asks first.
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise Refused(415, "not_json", "Send the body as JSON, with the header Content-Type: application/json.")
    body = await _read_body(request)
    try:
        return msgspec.json.decode(body, type=body_type)
    except msgspec.ValidationError as wrong:
        message = f"The body does not have the form that is asked for: {wrong}."
        raise Refused(400, "bad_request", message, _field(str(wrong))) from None
    except (msgspec.DecodeError, RecursionError) as broken:
        raise Refused(400, "bad_json", f"The body cannot be read as JSON: {broken}.") from None


def _field(complaint: str) -> str | None:
    """The field of the body that msgspec complains about: "... - at `$.name`", or "... field `name`"."""
    found = re.search(r"\$\.(\w+)", complaint) or re.search(r"field `(\w+)`", complaint)
    return found[1] if found else None


async def _read_body(request: Request) -> bytes:
    parts: list[bytes] = []
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        if size <= wire.MAX_BODY_BYTES:
            parts.append(chunk)
        elif size > _DRAIN_BYTES:
            break
    if size > wire.MAX_BODY_BYTES:
        raise Refused(
            413,
            "body_too_large",
            f"The body is larger than {wire.MAX_BODY_BYTES // 1024:,} KiB, the most that is read here.",
        )
    return b"".join(parts)


async def _refused(request: Request, error: Any) -> Response:
    return refusal(error.status, error.code, error.message, path=request.scope["path"], param=error.param)


async def _http(request: Request, error: Any) -> Response:
    known = {
        404: ("unknown_path", "There is nothing at this address."),
        405: ("bad_method", "This address does not take that method."),
    }
    code, message = known.get(error.status_code, ("http_error", str(error.detail)))
    return refusal(error.status_code, code, message, headers=error.headers, path=request.scope["path"])


async def _left(_: Request, __: Any) -> Response:
    return Response(status_code=400)


async def _unexpected(request: Request, error: Any) -> Response:
    message = f"The engine met an error of its own ({type(error).__name__}); its log says more."
    return refusal(500, "internal_error", message, path=request.scope["path"])


EXCEPTION_HANDLERS: dict[Any, Any] = {
    Refused: _refused,
    HTTPException: _http,
    ClientDisconnect: _left,
    Exception: _unexpected,
}
