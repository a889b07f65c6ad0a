"""The cookie: one for every browser that opens a page, kept as it is, and for nothing but pages."""

from __future__ import annotations

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from views.visitor import COOKIE, VisitorCookie

PAGE = {"accept": "text/html,application/xhtml+xml"}


@pytest.fixture
def client() -> TestClient:
    async def answer(_request: object) -> PlainTextResponse:
        return PlainTextResponse("here")

    app = Starlette(routes=[Route("/", answer, methods=["GET", "POST"])], middleware=[Middleware(VisitorCookie)])
    return TestClient(app, base_url="https://testserver")


def test_a_page_brings_a_cookie_that_no_script_reads_and_the_next_page_renews_the_same(client):
    first = client.get("/", headers=PAGE)
    value = client.cookies[COOKIE]
    told = first.headers["set-cookie"]
    assert "HttpOnly" in told and "SameSite=Lax" in told and "Secure" in told and "Max-Age=2592000" in told
    assert f"{COOKIE}={value};" in client.get("/", headers=PAGE).headers["set-cookie"]


def test_two_browsers_get_two_cookies(client):
    values = set()
    for _ in range(3):
        client.cookies.clear()
        client.get("/", headers=PAGE)
        values.add(client.cookies[COOKIE])
    assert len(values) == 3


def test_what_is_no_page_brings_none(client):
    assert "set-cookie" not in client.get("/", headers={"accept": "application/json"}).headers
    assert "set-cookie" not in client.post("/", headers=PAGE).headers


@pytest.mark.parametrize("bad", ["short", "a" * 500, "not;a=cookie", '"' + "x" * 22])
def test_a_value_that_is_not_ours_is_replaced(client, bad):
    told = client.get("/", headers=PAGE | {"cookie": f"{COOKIE}={bad}"}).headers["set-cookie"]
    assert bad not in told and len(told.partition(";")[0]) == len(COOKIE) + 1 + 22
