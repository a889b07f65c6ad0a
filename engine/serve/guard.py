"""Who may come in, and what is written down about it.

Without a token the server listens on loopback and takes only requests that name a loopback host, so that a web page
whose name was rebound to 127.0.0.1 gets nothing. With a token, every request carries it.
"""

from __future__ import annotations

import ipaddress
import logging
import secrets
import time

from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from engine.serve.faults import refusal

_access = logging.getLogger("twospeeds.access")


def is_loopback(host: str) -> bool:
    """Whether an address to listen on is reachable from this machine alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def middleware(token: str | None, host: str) -> list[Middleware]:
    """The layers around all routes, outermost first; `host` is the address that is listened on."""
    if token:
        door = Middleware(_TokenDoor, token=token)
    else:
        door = Middleware(TrustedHostMiddleware, allowed_hosts=[*_LOOPBACK_NAMES, host], www_redirect=False)
    return [Middleware(_AccessLog), door]


_LOOPBACK_NAMES = ["127.0.0.1", "localhost", "[::1]", "::1"]


class _TokenDoor:
    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            given = dict(scope["headers"]).get(b"authorization", b"")
            if not secrets.compare_digest(given, self._expected):
                no = refusal(
                    401,
                    "unauthorized",
                    "This engine asks for a token, and none or another one was sent (Authorization: Bearer ...).",
                    {"WWW-Authenticate": "Bearer"},
                    path=scope["path"],
                )
                await no(scope, receive, send)
                return
        await self._app(scope, receive, send)


class _AccessLog:
    """Method, path, status, time. No query string, no body, no address."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status = 0
        begun = time.monotonic_ns()

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, noting)
        finally:
            milliseconds = (time.monotonic_ns() - begun) / 1e6
            _access.info("%s %s %d %.1f ms", scope["method"], scope["path"], status, milliseconds)
