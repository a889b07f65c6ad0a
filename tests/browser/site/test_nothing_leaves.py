"""Nothing leaves the machine, nothing listens beyond it, and no log holds what a person typed.

The app and the engine of all browser tests run with a hook on every connection and look-up (tests/browser/network.py);
whatever it saw during the whole session fails at the session's end, too.
"""

from __future__ import annotations

import subprocess
import sys
from urllib.parse import urlsplit

import psutil
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from tests.browser.network import asked_outside, watching
from tests.browser.site.conftest import App
from tests.browser.site.visitor import new_run, visit, wait_for_end

MARKER = "zebracrossing"
"""What this person types; no other test does."""


def test_a_visit_asks_nobody_outside_and_leaves_no_word_in_a_log(page, app):
    asked: list[str] = []
    page.context.on("request", lambda request: asked.append(request.url))
    page.on("websocket", lambda socket: asked.append(socket.url))
    visit(page, f"{app.url}/lab?prompt=The+{MARKER}&new=6")
    with new_run(page):
        page.get_by_role("button", name="Run it").click()
    wait_for_end(page)
    for other in ("/method", "/course"):
        visit(page, app.url + other)
    assert len(asked) > 20
    assert [url for url in asked if urlsplit(url).scheme in ("http", "https", "ws", "wss")
            and urlsplit(url).hostname != "127.0.0.1"] == []  # fmt: skip
    assert MARKER not in app.log.read_text()
    assert asked_outside(app.folder) == []


def test_a_page_of_another_site_is_turned_away_without_asking_anybody_about_it(app):
    address = app.url.replace("http", "ws") + "/_stcore/stream"
    with pytest.raises(InvalidStatus) as no, connect(address, origin="https://evil.example", proxy=None):
        pass
    assert no.value.response.status_code == 403
    with connect(address, origin=app.url, proxy=None) as own:
        own.ping().wait(20)
    assert asked_outside(app.folder) == []


def test_app_and_engine_listen_on_loopback_alone(app):
    both = [psutil.Process(app.process.pid), *psutil.Process(app.process.pid).children(recursive=True)]
    listening = [
        (one.pid, place.laddr.ip)
        for one in both
        for place in one.net_connections(kind="inet")
        if place.status == psutil.CONN_LISTEN or place.type == 2  # a datagram socket hears without listening
    ]
    assert len({pid for pid, _ in listening}) == 2, "the app's port and the engine's"
    assert {ip for _, ip in listening} == {"127.0.0.1"}


def test_an_app_that_is_told_to_listen_everywhere_asks_nobody_for_its_address(tmp_path):
    settings = {"STREAMLIT_SERVER_ADDRESS": "0.0.0.0", "TWOSPEEDS_ENGINE_URL": "http://127.0.0.1:9"}
    app = App(tmp_path, **settings, **watching(tmp_path))
    try:
        app.wait_until("/_stcore/health", lambda answer: answer.status_code == 200, 60)
    finally:
        app.stop()
    assert asked_outside(app.folder) == [] and "127.0.0.1" in app.log.read_text()


def test_the_hook_sees_what_it_should(tmp_path):
    """Else an empty list would prove nothing."""
    code = "import socket; socket.socket(type=socket.SOCK_DGRAM).connect(('192.0.2.1', 9)); print(end='here')"
    done = subprocess.run(
        [sys.executable, "-c", code], env=watching(tmp_path), capture_output=True, text=True, check=False
    )
    assert done.stdout == "here" or "unreachable" in done.stderr
    assert [line.split()[1:] for line in asked_outside(tmp_path)] == [["socket.connect", "'192.0.2.1'"]]
