"""The app's own routes get nonsense: they say no in their own form, and nothing breaks."""

from __future__ import annotations

import json
from urllib.parse import quote

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from engine.account.record import Sampling
from tests.app.conftest import whole_log
from tests.engine.serve.conftest import PATIENCE_S

some = settings(max_examples=40, deadline=None, database=None, suppress_health_check=list(HealthCheck))

# What is quoted as a whole, and pieces that mean something to a path, a file system, or a log.
_text = st.text(max_size=12) | st.sampled_from(["..", "%2e%2e", "a/../b", "\x00", "\r\nSet-Cookie: a=b", "‮", "C:\\x"])
_where = st.sampled_from(["health", "runs/", "recordings/", "assets/", "assets/v-", ""])
_method = st.sampled_from(["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"])


@pytest.fixture(scope="module")
def http(at):
    with httpx.Client(base_url=f"http://{at}", trust_env=False, timeout=PATIENCE_S) as asking:
        yield asking


@some
@given(_where, _text, _text, _method)
def test_no_address_whatever_gets_more_than_a_refusal(http, where, path, query, method):
    answer = http.request(method, f"/twospeeds/{where}{quote(path)}?from={quote(query)}")
    assert answer.status_code in (200, 307, 404, 405), answer.text
    assert "Traceback" not in answer.text and "set-cookie" not in answer.headers
    if where in ("recordings/", "assets/", "assets/v-") and answer.status_code == 404 and answer.text.startswith("{"):
        assert answer.json()["error"]["code"] == "unknown_file"


@settings(some, max_examples=15)
@given(_text, _text)
def test_no_run_whatever_is_shown_to_who_does_not_know_its_id(at, run_id, start):
    try:
        with connect(f"ws://{at}/twospeeds/runs/{quote(run_id, safe='')}?from={quote(start)}", proxy=None) as socket:
            told = json.loads(socket.recv(PATIENCE_S))
    except InvalidStatus as no:
        assert no.response.status_code in (403, 404)  # not an address of ours
    else:
        assert told["error"]["code"] in ("unknown_run", "bad_start")


def test_the_app_serves_on_after_all_that(link, at):
    run_id = link.submit("still here", Sampling(max_new_tokens=2))
    assert whole_log(at, run_id)[1]["end"] is True
