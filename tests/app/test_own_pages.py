"""Which pages may open a WebSocket to the app: its own, and those of an outer address that the operator names."""

from __future__ import annotations

import pytest
import streamlit as st
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocket, WebSocketDisconnect

from views.own_pages import OwnPagesOnly


@pytest.fixture
def client() -> TestClient:
    async def tell(socket: WebSocket) -> None:
        await socket.accept()
        await socket.send_json(socket.headers.get("origin"))

    routes = [WebSocketRoute("/_stcore/stream", tell)]
    return TestClient(Starlette(routes=routes, middleware=[Middleware(OwnPagesOnly)]), base_url="http://here:8501")


def seen(client: TestClient, **headers: str) -> object:
    with client.websocket_connect("/_stcore/stream", headers=headers) as socket:
        return socket.receive_json()


@pytest.mark.parametrize("origin", ["https://evil.example", "http://here", "http://here:8501.evil.example", "null", ""])
def test_other_pages_are_turned_away_before_the_connection_opens(client, origin):
    with pytest.raises(WebSocketDisconnect) as no:
        seen(client, origin=origin)
    assert no.value.code == 1008


def test_an_own_page_is_let_in_and_nobody_behind_asks_again(client):
    assert seen(client, origin="http://here:8501", host="here:8501") is None
    assert seen(client) is None  # no browser


def test_an_outer_address_that_the_operator_named_is_let_in(client, monkeypatch):
    monkeypatch.setattr(st, "get_option", {"server.corsAllowedOrigins": ["https://class.example"]}.__getitem__)
    assert seen(client, origin="https://class.example") is None
