"""Behind nginx with TLS and a sub-path, as deploy/nginx.conf sets it up: pages, the stream of a run, cookies, /v1."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx
import openai
import pytest
from playwright.sync_api import expect

from engine.serve.launch import EngineProcess, default_command
from tests.browser.conftest import PATIENCE_MS
from tests.browser.deploy.nginx import nginx, program
from tests.browser.site.conftest import ENGINE_READY_S, App
from tests.browser.site.visitor import LESSON, ask, card_value, guess, visit, wait_for_end
from views.visitor import COOKIE

TOKEN = "a-token-for-machines"
PATIENCE_S = 60


@pytest.fixture(scope="module")
def proxied(tmp_path_factory) -> Iterator[tuple[str, str]]:
    """An app below a sub-path, an engine that was started by hand with a token, and nginx before both."""
    program()
    folder = tmp_path_factory.mktemp("nginx")
    engine = EngineProcess([*default_command(), "--token", TOKEN])
    app = None
    try:
        url = engine.read_url()
        app = App(folder, STREAMLIT_SERVER_BASE_URL_PATH="two-speeds", TWOSPEEDS_ENGINE_URL=url,
                  TWOSPEEDS_ENGINE_TOKEN=TOKEN)  # fmt: skip
        health = "/two-speeds/twospeeds/health"
        app.wait_until(health, lambda told: told.json().get("status") == "ready", ENGINE_READY_S)
        with nginx(folder, urlsplit(app.url).port, urlsplit(url).port) as (tls, plain):
            yield tls, plain
        assert "Traceback" not in app.log.read_text()
        _nothing_private_was_logged((folder / "two-speeds.log").read_text())
    finally:
        if app:
            app.stop()
        engine.stop()


def _nothing_private_was_logged(log: str) -> None:
    """The proxy's log tells what was asked for and how it went, but no id, no query, no address of a person."""
    assert "GET /two-speeds/twospeeds/runs/- 101" in log
    assert "?" not in log and "Once" not in log and not re.search(r"[0-9a-f]{32}", log) and "127.0.0.1" not in log


def test_a_lesson_s_run_streams_to_its_end_through_tls_and_a_sub_path(browser, proxied):
    tls, _ = proxied
    context = browser.new_context(ignore_https_errors=True)
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    sockets, asked = [], []
    page.on("websocket", lambda socket: sockets.append(socket.url))
    page.on("request", lambda request: asked.append(request.url))
    visit(page, f"{tls}/two-speeds{LESSON}")
    ask(page, "Once upon a time, there was a")
    guess(page, 10)
    wait_for_end(page)
    assert page.evaluate("__flipbook.passes") == 10

    prefix = f"{tls}/two-speeds/"
    assert any(url.startswith(f"{prefix.replace('https', 'wss')}twospeeds/runs/") for url in sockets)
    assert [url for url in asked if not url.startswith((prefix, "data:", "blob:"))] == []
    (cookie,) = [one for one in context.cookies() if one["name"] == COOKIE]
    assert cookie["secure"] and cookie["httpOnly"] and cookie["path"] == "/two-speeds/"

    page.reload()
    wait_for_end(page)
    expect(card_value(page, "You said")).to_have_text("10 passes")
    context.close()


def test_plain_http_and_a_missing_slash_are_led_to_the_page(proxied):
    tls, plain = proxied
    with httpx.Client(verify=False, trust_env=False) as http:
        assert http.get(f"{plain}/two-speeds/lab?new=7").headers["location"].endswith("/two-speeds/lab?new=7")
        assert http.get(f"{tls}/two-speeds").headers["location"].endswith("/two-speeds/")


def test_programs_reach_the_engine_with_its_token_alone(proxied):
    tls, _ = proxied
    with httpx.Client(verify=False, trust_env=False, timeout=PATIENCE_S) as http:
        assert http.get(f"{tls}/two-speeds/engine/v1/models").status_code == 401
        client = openai.OpenAI(base_url=f"{tls}/two-speeds/engine/v1", api_key=TOKEN, http_client=http, max_retries=0)
        pieces = client.completions.create(model="story", prompt="The cat", max_tokens=4, temperature=0, stream=True)
        choices = [one.choices[0] for one in pieces if one.choices]
        # A fast engine may put several tokens into a piece.
        assert "".join(one.text for one in choices).strip() and choices[-1].finish_reason == "length"
