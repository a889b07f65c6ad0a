"""Only pages of this server may open a WebSocket to it: every one, Streamlit's own connection, too.

A browser lets any site open a WebSocket anywhere, and says from where. Streamlit has a check of its own, which asks an
outside service for this machine's address as soon as a page of another site knocks; here nobody is asked.
"""

from __future__ import annotations

import streamlit as st
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from views.relay import is_own_page


class OwnPagesOnly:
    """Middleware: turns away what comes from elsewhere; for the rest the question is settled, so nobody asks again."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a WebSocket on without its Origin, or close it before it opens: the browser sees HTTP 403."""
        if scope["type"] != "websocket":
            return await self._app(scope, receive, send)
        headers = Headers(scope=scope)
        if not is_own_page(headers.get("origin"), headers.get("host"), st.get_option("server.corsAllowedOrigins")):
            return await send({"type": "websocket.close", "code": 1008})
        settled = [(name, value) for name, value in scope["headers"] if name != b"origin"]
        return await self._app({**scope, "headers": settled}, receive, send)
