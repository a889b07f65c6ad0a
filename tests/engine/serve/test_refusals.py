"""What the server says to wrong input: JSON with a code and a message, never a traceback, and it goes on serving."""

from __future__ import annotations

import json
import threading

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.account.record import Sampling
from engine.serve.client import EngineClient, EngineRefused
from engine.serve.server import build
from engine.serve.wire import MAX_BODY_BYTES
from tests.engine.serve.conftest import PATIENCE_S, engine_server, serving, until
from tests.engine.serve.scripted import ScriptedEngine

JSON = {"Content-Type": "application/json"}


def refused(answer: httpx.Response) -> tuple[int, str]:
    """Status and code of a refusal, after checking its form."""
    assert answer.headers["content-type"] == "application/json", answer.text
    error = answer.json()["error"]
    of_openai = {"type", "param"} if answer.request.url.path.startswith("/v1/") else set()
    assert set(error) == {"code", "message"} | of_openai and len(error["message"]) > 10
    assert "Traceback" not in answer.text
    return answer.status_code, error["code"]


BAD_BODIES = [
    (b"", "bad_json"),
    (b"{", "bad_json"),
    (b'{"prompt": "a"', "bad_json"),
    (b"\xff\xfe\x00", "bad_json"),
    (b'{"prompt": "a"}{}', "bad_json"),
    (b'{"prompt": NaN}', "bad_json"),
    (b'{"prompt": "\\ud800"}', "bad_json"),
    (b'{"prompt": "\xc3\x28"}', "bad_json"),
    (b"[" * 100_000, "bad_request"),
    (b'{"sampling": {"temperature": ' + b"[" * 100_000, "bad_request"),
    (b"null", "bad_request"),
    (b"[]", "bad_request"),
    (b'"text"', "bad_request"),
    (b"{}", "bad_request"),
    (b'{"prompt": null}', "bad_request"),
    (b'{"prompt": 7}', "bad_request"),
    (b'{"prompt": ["a"]}', "bad_request"),
    (b'{"prompt": "a", "surprise": 1}', "bad_request"),
    (b'{"prompt": "a", "sampling": []}', "bad_request"),
    (b'{"prompt": "a", "sampling": {"temperature": "hot"}}', "bad_request"),
    (b'{"prompt": "a", "sampling": {"max_new_tokens": 1.5}}', "bad_request"),
    (b'{"prompt": "a", "sampling": {"seed": true}}', "bad_request"),
    (b'{"prompt": "a", "sampling": {"heat": 1}}', "bad_request"),
    (b'{"prompt": "a", "sampling": {"temperature": -1}}', "bad_sampling"),
    (b'{"prompt": "a", "sampling": {"temperature": 1e400}}', "bad_request"),
    (b'{"prompt": "a", "sampling": {"temperature": 1e300}}', "bad_sampling"),
    (b'{"prompt": "a", "sampling": {"top_p": 0}}', "bad_sampling"),
    (b'{"prompt": "a", "sampling": {"top_k": -1}}', "bad_sampling"),
    (b'{"prompt": "a", "sampling": {"seed": 123456789012345678901234567890}}', "bad_sampling"),
    (b'{"prompt": "a", "sampling": {"max_new_tokens": 0}}', "bad_sampling"),
    (b'{"prompt": ""}', "empty_prompt"),
]


@pytest.mark.parametrize(("body", "code"), BAD_BODIES, ids=[str(body[:40]) for body, _ in BAD_BODIES])
def test_a_wrong_body_is_refused_with_a_reason(http, body, code):
    assert refused(http.post("/runs", content=body, headers=JSON)) == (400, code)


def test_a_refusal_names_the_field_and_its_bounds(client):
    with pytest.raises(EngineRefused, match=r"temperature must be a number from 0 .* to 100") as no:
        client.submit("a", Sampling(temperature=1000.0))
    assert no.value.code == "bad_sampling"


def test_an_unknown_model_is_refused_by_name_with_those_that_there_are(client):
    with pytest.raises(EngineRefused, match=r"gpt-9.*story") as no:
        client.submit("a", model="gpt-9")
    assert (no.value.status, no.value.code) == (404, "unknown_model")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/runs/0123456789abcdef0123456789abcdef"),
        ("GET", "/runs/0123456789abcdef0123456789abcdef/events"),
        ("POST", "/runs/0123456789abcdef0123456789abcdef/cancel"),
        ("POST", "/runs/0123456789abcdef0123456789abcdef/trace"),
        ("GET", "/runs/%2e%2e"),
        ("GET", "/runs/%00"),
    ],
)
def test_an_unknown_run_is_refused_on_every_route(http, method, path):
    assert refused(http.request(method, path)) == (404, "unknown_run")


@pytest.mark.parametrize("run_id", ["", "..", "../metrics", "a/b", "a?b", "x" * 65, "ü", "a b", "a\nb"])
def test_the_client_does_not_even_ask_for_what_cannot_be_a_run_id(client, run_id):
    with pytest.raises(EngineRefused) as no:
        client.run(run_id)
    assert no.value.code == "unknown_run"


@pytest.mark.parametrize("start", ["-1", "x", "1.5", "", "٣", "9" * 10, "1e3"])
def test_a_start_that_is_no_event_number_is_refused(client, http, start):
    run_id = client.submit("a", Sampling(max_new_tokens=1))
    assert refused(http.get(f"/runs/{run_id}/events", params={"from": start})) == (400, "bad_start")


@pytest.mark.parametrize("path", ["/", "/runs", "/nothing", "/v1", "/v1/chat/completions", "/../../etc/passwd"])
def test_an_unknown_address_is_refused_as_json(http, path):
    assert refused(http.get(path)) in [(404, "unknown_path"), (405, "bad_method")]


@pytest.mark.parametrize("path", ["/health", "/runs/x", "/metrics", "/v1/models"])
def test_a_wrong_method_is_refused_as_json(http, path):
    assert refused(http.delete(path)) == (405, "bad_method")


def test_a_body_of_another_type_is_refused_so_that_no_web_page_can_send_one_unasked(http):
    body = b'{"prompt": "a"}'
    for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
        assert refused(http.post("/runs", content=body, headers={"Content-Type": kind})) == (415, "not_json")


class TestSize:
    def test_a_body_beyond_the_limit_is_refused(self, http):
        prompt = "x" * (2 * MAX_BODY_BYTES)
        assert refused(http.post("/runs", json={"prompt": prompt})) == (413, "body_too_large")

    def test_a_body_that_does_not_say_its_length_is_refused_as_well(self, http):
        chunks = (b" " * 65536 for _ in range(2 * MAX_BODY_BYTES // 65536))
        assert refused(http.post("/runs", content=chunks, headers=JSON)) == (413, "body_too_large")

    def test_the_largest_body_that_is_read_is_read(self, http):
        frame = len(json.dumps({"prompt": "", "sampling": {"max_new_tokens": 1}}))
        body = json.dumps({"prompt": "x" * (MAX_BODY_BYTES - frame), "sampling": {"max_new_tokens": 1}})
        assert len(body) == MAX_BODY_BYTES
        assert http.post("/runs", content=body, headers=JSON).status_code == 201

    def test_one_byte_more_is_not(self, http):
        body = b'{"prompt": "a"}'.ljust(MAX_BODY_BYTES + 1)
        assert refused(http.post("/runs", content=body, headers=JSON)) == (413, "body_too_large")


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
_sampling = st.dictionaries(
    st.sampled_from(["temperature", "top_k", "top_p", "seed", "max_new_tokens", "ignore_eos", "x"]), _json, max_size=4
)
_body = st.fixed_dictionaries(
    {"prompt": st.text(max_size=20) | _json}, optional={"sampling": _sampling, "model": _json}
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(_json | _body, st.sampled_from(["/runs", "/v1/completions", "/v1/chat/completions"]))
def test_no_json_whatever_gets_more_than_an_answer_or_a_refusal(http, body, path):
    answer = http.post(path, content=json.dumps(body), headers=JSON)
    if answer.status_code >= 400:
        assert answer.status_code in (400, 404), answer.text
        refused(answer)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200))
def test_no_bytes_whatever_get_more_than_a_refusal(http, body):
    assert refused(http.post("/runs", content=body, headers=JSON))[0] == 400


def test_the_server_serves_on_after_all_that(client):
    run_id = client.submit("still here", Sampling(max_new_tokens=2))
    assert list(client.events(run_id))[-1].reason == "length"


def test_a_full_queue_is_said_at_once_instead_of_growing(monkeypatch):
    monkeypatch.setattr("engine.serve.server.MAX_WAITING", 3)
    with engine_server(ScriptedEngine(0.02)) as url, EngineClient(url) as client:
        for _ in range(4):
            client.submit("a", Sampling(max_new_tokens=2000))
        with pytest.raises(EngineRefused) as no:
            client.submit("a")
        assert (no.value.status, no.value.code) == (429, "queue_full")


def test_an_error_inside_is_told_without_its_insides():
    class Broken(ScriptedEngine):
        def batch_table(self):
            raise RuntimeError("secret prompt inside")

    with engine_server(Broken()) as url:
        answer = httpx.get(f"{url}/batch", trust_env=False)
        assert refused(answer) == (500, "internal_error")
        assert "secret" not in answer.text


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", ""])
def test_a_name_that_was_rebound_to_loopback_gets_nothing(http, host):
    assert http.get("/health", headers={"Host": host}).status_code == 400


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost:1234", "[::1]:80"])
def test_the_names_of_loopback_are_served(http, host):
    assert http.get("/health", headers={"Host": host}).status_code == 200


class TestLoading:
    """While there is no engine the server says so, on every route that would need one."""

    def test_a_model_that_loads_slowly_is_loading_and_then_ready(self):
        arrived = threading.Event()

        def load() -> ScriptedEngine:
            arrived.wait(PATIENCE_S)
            return ScriptedEngine()

        with serving(build(load)) as url, EngineClient(url) as client:
            assert client.health().status == "loading"
            for ask in (client.models, client.batch, lambda: client.submit("a")):
                with pytest.raises(EngineRefused) as no:
                    ask()
                assert (no.value.status, no.value.code) == (503, "engine_loading")
            arrived.set()
            until(lambda: client.health().status == "ready")
            assert client.submit("a")

    def test_a_model_that_cannot_be_loaded_leaves_a_server_that_says_why(self):
        def load() -> ScriptedEngine:
            raise ValueError("model.safetensors is cut off: 12 bytes of 4000 are there")

        with serving(build(load)) as url, EngineClient(url) as client:
            until(lambda: client.health().status == "failed")
            assert "cut off" in client.health().message
            with pytest.raises(EngineRefused, match="cut off") as no:
                client.submit("a")
            assert (no.value.status, no.value.code) == (503, "engine_failed")
            assert httpx.get(f"{url}/metrics", trust_env=False).status_code == 200
