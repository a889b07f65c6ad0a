"""Engines asked from outside: one of ours, whose record tells what is true, and one that misbehaves in every way."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Iterator

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from typer.testing import CliRunner

from engine.__main__ import app as commands
from engine.account import any_record, record_file
from engine.account.metrics import timings
from engine.account.outside_timings import outside_timings
from engine.account.record import End, Error, Sampling
from engine.account.record_file import RecordError
from engine.outside.server import OutsideError, configured, outside_server
from engine.outside.stream import PATIENCE, Patience, ask
from engine.serve.server import build
from tests.engine.outside.seen import seen_run
from tests.engine.serve.conftest import serving
from tests.engine.serve.scripted import ScriptedEngine, words

SAMPLING = Sampling(max_new_tokens=6)
HASTY = Patience(connect_s=5, silent_s=0.5, whole_s=10)


def asked(url: str, model: str | None = "m", key: str | None = None, patience: Patience = HASTY, **more):
    return asyncio.run(ask(outside_server(url, model, key), "Once upon", SAMPLING, patience=patience, **more))


def test_an_engine_of_ours_seen_from_outside_agrees_with_its_own_record(monkeypatch):
    engine, logs = ScriptedEngine(0.03), []
    submit = engine.submit
    monkeypatch.setattr(engine, "submit", lambda *a, **k: logs.append(submit(*a, **k)) or logs[-1])
    with serving(build(lambda: engine, token="secret")) as url:
        heard = []
        for _ in range(100):
            run = asked(url + "/v1/", None, "secret", PATIENCE, tell=heard.append)
            if not isinstance(run.end, Error):
                break
            heard.clear()
            time.sleep(0.05)  # it is still loading
        refused = asked(url, None, "wrong")
    inside = logs[-1].run
    seen, told = outside_timings(run), timings(inside)
    assert heard == run.events and run.text == inside.text == "".join(words("Once upon", 6))
    assert isinstance(run.end, End) and run.end.reason == "length" and run.header.model == "story"
    assert (seen.prompt_tokens, seen.new_tokens) == (len(inside.header.prompt_tokens), 6)
    assert seen.ttft_ns >= told.ttft_ns > 0 and seen.e2e_ns >= seen.ttft_ns + 3 * 30_000_000
    assert seen.tpot_ns == pytest.approx(told.tpot_ns, rel=0.5)
    assert any_record.loads(any_record.dumps(run)) == run
    assert refused.end.code == "key_refused" and "secret" not in refused.end.message


def event(body: object) -> bytes:
    return b"data: " + (body if isinstance(body, bytes) else json.dumps(body).encode()) + b"\r\n\r\n"


def text(piece: str, reason: str | None = None) -> bytes:
    return event({"choices": [{"index": 0, "text": piece, "finish_reason": reason}]})


DONE = event(b"[DONE]")
Answer = Callable[[Request], Response]


def streaming(*pieces: bytes | float | Exception) -> Answer:
    """An answer that sends bytes, waits seconds, or breaks."""

    async def body() -> AsyncIterator[bytes]:
        for piece in pieces:
            if isinstance(piece, float):
                await asyncio.sleep(piece)
            elif isinstance(piece, Exception):
                raise piece
            else:
                yield piece

    return lambda _request: StreamingResponse(body(), media_type="text/event-stream")


class Odd:
    """A server whose next answers a test chooses, route by route."""

    def __init__(self) -> None:
        self.completions: Answer = streaming(DONE)
        self.chat: Answer = lambda _request: JSONResponse({"detail": "no such route"}, 404)
        self.models: Answer = lambda _request: JSONResponse({"data": []})
        self.bodies: list[dict] = []

    def app(self) -> Starlette:
        async def post(request: Request) -> Response:
            self.bodies.append(await request.json())
            return (self.chat if "chat" in request.url.path else self.completions)(request)

        async def models(request: Request) -> Response:
            return self.models(request)

        paths = ("/v1/completions", "/v1/chat/completions")
        return Starlette(routes=[*(Route(path, post, methods=["POST"]) for path in paths), Route("/v1/models", models)])


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[str, Odd]]:
    odd = Odd()
    with serving(odd.app()) as url:
        yield url, odd


@pytest.fixture
def odd(served) -> Odd:
    served[1].__init__()
    return served[1]


@pytest.fixture
def url(served, odd) -> str:
    return served[0]


def failure(url: str, model: str | None = "m") -> tuple[str, str]:
    run = asked(url, model)
    assert isinstance(run.end, Error), run.events
    return run.end.code, run.end.message


@pytest.mark.parametrize(
    ("answer", "code", "told"),
    [
        (lambda _r: JSONResponse({"error": {"message": "no\nroom"}}, 500), "refused_outside", "500): no room"),
        (lambda _r: Response("<h1>Bad gateway</h1>", 502), "refused_outside", "502): <h1>Bad gateway</h1>"),
        (lambda _r: JSONResponse({"message": "slow down"}, 429), "refused_outside", "is busy (HTTP 429): slow down"),
        (lambda _r: JSONResponse({"error": "key sk-123 is wrong"}, 401), "key_refused", "does not accept the key"),
        (lambda _r: Response(status_code=302, headers={"location": "http://127.0.0.1:1/"}), "refused_outside", "302"),
        (lambda _r: JSONResponse({"choices": [{"text": "not a stream"}]}), "garbled", "no stream"),
        (streaming(text("a"), b"data: {nonsense\n\n"), "garbled", "not what OpenAI's API has"),
        (streaming(text("a"), event({"choices": "none"})), "garbled", "not what OpenAI's API has"),
        (streaming(b"data: " + b"x" * 3_000_000), "garbled", "does not end"),
        (streaming(text("a"), event({"error": {"message": "the GPU is gone"}})), "failed_outside", "the GPU is gone"),
        (streaming(text("a"), text("b")), "cut_off", "broke off in the middle"),
        (streaming(text("a"), RuntimeError("dropped")), "cut_off", "broke in the middle"),
        (streaming(text("a"), 30.0), "too_slow", "sent nothing for 0.5 s"),
        (streaming(text("x" * 300_000), DONE), "too_much", "more text"),
    ],
)  # fmt: skip
def test_what_goes_wrong_out_there_is_told_in_plain_words(url, odd, answer, code, told):
    odd.completions = answer
    got = failure(url)
    assert got[0] == code and told in got[1] and "sk-123" not in got[1]


def test_what_came_before_it_broke_is_kept(url, odd):
    odd.completions = streaming(text("Once"), text(" upon"), RuntimeError("dropped"))
    run = asked(url)
    assert run.text == "Once upon" and len(run.chunks) == 2 and outside_timings(run).tpot_ns is None
    assert any_record.loads(any_record.dumps(run)) == run


def test_two_tokens_in_a_chunk_are_a_chunk_and_the_count_is_the_server_s(url, odd):
    usage = event({"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 5}})
    odd.completions = streaming(
        b": hello\n\n", text(""), text(" two tokens"), 0.05, text(" and"), text(" more", "stop"), usage, DONE
    )
    seen = outside_timings(run := asked(url))
    assert [chunk.text for chunk in run.chunks] == [" two tokens", " and", " more"]
    assert (seen.n_chunks, seen.new_tokens, seen.one_token_each) == (3, 5, False)
    assert seen.tpot_ns == sum(seen.gaps_ns) / 4 and run.end.reason == "stop"


def test_a_server_without_completions_is_asked_to_chat_and_an_old_one_without_the_count(url, odd):
    def chat(request: Request) -> Response:
        if "stream_options" in odd.bodies[-1]:
            return JSONResponse({"error": {"message": "unknown field stream_options"}}, 400)
        delta = [{"role": "assistant", "content": ""}, {"reasoning_content": "hm"}, {"content": "Hello"}]
        pieces = [event({"choices": [{"delta": one, "finish_reason": None}]}) for one in delta]
        return streaming(*pieces, event({"choices": [{"delta": {}, "finish_reason": "length"}]}), DONE)(request)

    odd.completions, odd.chat = (lambda _r: JSONResponse({"detail": "Not Found"}, 404)), chat
    run = asked(url)
    assert run.header.route == "chat" and run.text == "hmHello" and run.counted is None
    assert [("messages" in body, "stream_options" in body) for body in odd.bodies] == [
        (False, True), (True, True), (True, False),
    ]  # fmt: skip
    odd.chat = lambda _r: JSONResponse({"detail": "no chat either"}, 404)
    assert failure(url)[1].endswith("Not Found")


def test_nobody_there_or_no_model_or_no_address(url, odd):
    code, message = failure("http://127.0.0.1:9")
    assert code == "unreachable" and "127.0.0.1:9 does not answer" in message
    assert failure(url, model=None)[0] == "no_model"
    for bad in (
        "ftp://x",
        "//host",
        "http://",
        "http://u:p@host/",
        "http://host:notaport",
        "http://host/?a=b",
        "http://[x",
    ):
        with pytest.raises(OutsideError):
            outside_server(bad)
    server = configured({"TWOSPEEDS_OUTSIDE_URL": "https://gpu.example:8000/api/v1/", "TWOSPEEDS_OUTSIDE_KEY": "sk-1"})
    assert (
        server.url == "https://gpu.example:8000/api"
        and server.name == "gpu.example:8000"
        and "sk-1" not in repr(server)
    )
    assert configured({}) is None


def test_the_command_prints_figures_and_says_what_is_wrong(url, odd):
    odd.completions = streaming(text("[red] fox"), text(".", "stop"), DONE)
    shown = CliRunner().invoke(commands, ["outside", url, "Once", "--model", "m"])
    assert shown.exit_code == 0 and "[red] fox" in shown.output and "cannot be seen from outside" in shown.output
    refused = CliRunner().invoke(commands, ["outside", "http://127.0.0.1:9", "Once", "--model", "m"])
    assert refused.exit_code == 2 and "does not answer" in refused.output


def test_the_two_kinds_of_record_do_not_pass_for_each_other():
    raw = any_record.dumps(seen_run())
    assert any_record.is_from_outside(raw) and any_record.loads(raw) == seen_run()
    with pytest.raises(RecordError):
        record_file.loads(raw)
    for old, new, told in (
        (b'"number":1', b'"number":5', "Chunk 1 is missing"),
        (b'"at_ns":130000000', b'"at_ns":13', "came before"),
        (b"twospeeds.run/1", b"twospeeds.run/8", "newer"),
        (b'"index":2', b'"index":3', "Event 2 is missing"),
    ):
        with pytest.raises(RecordError, match=told):
            any_record.loads(raw.replace(old, new))
