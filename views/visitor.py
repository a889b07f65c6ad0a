"""Who is here, without asking: a random cookie that ties a browser to the work done in it.

The cookie is set with the page itself, before Streamlit connects, so a page knows it from its first script run. Only
its hash is kept. Where cookies are refused, everything works for as long as the page stays open.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from http.cookies import CookieError, SimpleCookie

import streamlit as st
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from views.attempt_store import AttemptStore
from views.database import KEEP_DAYS
from views.resume_code import Limit, looks_like_a_code
from views.served_files import base_path

COOKIE = "twospeeds-visitor"
_VALUE = re.compile(r"[A-Za-z0-9_-]{22}")

TRIES_OF_ONE = Limit(10, 60)
TRIES_OF_ALL = Limit(60, 60)


@st.cache_resource(show_spinner=False)
def attempt_store() -> AttemptStore:
    """The process's one store of answers."""
    return AttemptStore()


def browser() -> str | None:
    """The hash of this browser's cookie; None where it keeps none."""
    value = str(st.context.cookies.get(COOKIE, ""))
    return hashlib.sha256(value.encode()).hexdigest() if _VALUE.fullmatch(value) else None


def keep_run(run_id: str) -> None:
    """Remember that this visitor started a run."""
    if name := browser():
        attempt_store().save_run(name, run_id)


def resume(code: str) -> bool | None:
    """Go on with the work of a code in this browser; False if there is none, None if it was tried too often."""
    name = browser()
    if name is None or not looks_like_a_code(code):
        return False
    if not (TRIES_OF_ONE.allows(name) and TRIES_OF_ALL.allows("all")):
        return None
    return attempt_store().resume(name, code)


class VisitorCookie:
    """Middleware: gives every browser that opens a page its cookie, and renews it for as long as runs are kept."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; the answer to one for a page carries the cookie."""
        if scope["type"] != "http" or scope["method"] != "GET":
            return await self._app(scope, receive, send)
        headers = Headers(scope=scope)
        if "text/html" not in headers.get("accept", ""):
            return await self._app(scope, receive, send)
        cookie = _cookie(_known(headers.get("cookie", "")) or secrets.token_urlsafe(16), scope["scheme"])

        async def with_cookie(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).append("Set-Cookie", cookie)
            await send(message)

        return await self._app(scope, receive, with_cookie)


def _known(header: str) -> str | None:
    try:
        morsel = SimpleCookie(header).get(COOKIE)
    except CookieError:
        return None
    return morsel.value if morsel and _VALUE.fullmatch(morsel.value) else None


def _cookie(value: str, scheme: str) -> str:
    """No script can read it, and no other site's page sends it along."""
    secure = "; Secure" if scheme == "https" else ""
    return f"{COOKIE}={value}; Path={base_path()}/; Max-Age={KEEP_DAYS * 86400}; HttpOnly; SameSite=Lax{secure}"
