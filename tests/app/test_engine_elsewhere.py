"""An engine on another machine: by address and token a page has it as its own, and is told plainly when it has not."""

from __future__ import annotations

import msgspec
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from engine.account.record import Sampling
from engine.serve import wire
from engine.serve.client import EngineRefused, EngineUnavailable
from engine.serve.server import build
from tests.app.conftest import relaying, whole_log
from tests.engine.serve.conftest import serving, until
from tests.engine.serve.scripted import DEVICE, ScriptedEngine, words
from views.engine_link import EngineLink
from views.store import RunStore

SHORT = Sampling(max_new_tokens=3)


class Placed(ScriptedEngine):
    """A scripted engine that knows where it runs."""

    device = DEVICE


def test_a_run_goes_there_and_comes_back_by_address_and_token(tmp_path):
    with serving(build(Placed, token="secret")) as url:
        link = EngineLink(url, "secret", store=RunStore(tmp_path))
        until(lambda: link.health().status == "ready", "the engine")
        assert not link.supervised and link.place == url.removeprefix("http://")
        assert link.health().machine == DEVICE.name
        run_id = link.submit("once upon", SHORT)
        until(lambda: link.run(run_id).end, "the end")
        assert link.run(run_id).text == "".join(words("once upon", 3))
        with relaying(link) as address:
            assert len(whole_log(address, run_id)[0]) == len(link.run(run_id).events)
    assert link.run(run_id).end, "it is kept here, though the engine has gone"


def test_a_wrong_token_is_told_to_whoever_looks_at_the_page(tmp_path):
    with serving(build(ScriptedEngine, token="secret")) as url:
        for token in ("wrong", None):
            link = EngineLink(url.replace("http://", "http://name:password@"), token, store=RunStore(tmp_path))
            health = link.health()
            assert health.status == "failed" and "does not accept this app's token" in health.message
            with pytest.raises(EngineRefused, match="TWOSPEEDS_ENGINE_TOKEN"):
                link.submit("once", SHORT)
            assert "password" not in health.message and "wrong" not in health.message


def test_nobody_there_and_somebody_else_there(tmp_path):
    link = EngineLink("http://name:password@127.0.0.1:9", "t", store=RunStore(tmp_path))
    assert link.health() == wire.Health("failed", "The engine at 127.0.0.1:9 does not answer (ConnectError).")
    with pytest.raises(EngineUnavailable):
        link.submit("once", SHORT, patience_s=0)
    with serving(Starlette(routes=[Route("/health", lambda _request: Response("<h1>Hello</h1>"))])) as url:
        told = EngineLink(url, store=RunStore(tmp_path)).health()
        assert told.status == "failed" and "is not a Two Speeds engine" in told.message


def test_an_engine_of_another_version_is_refused_before_a_run_is_lost(tmp_path):
    asked = []

    def health(_request: Request) -> Response:
        return Response(msgspec.json.encode(wire.Health("ready", schema="twospeeds.run/9")))

    def submit(_request: Request) -> Response:
        asked.append(1)
        return Response(b'{"run_id": "a"}', 201)

    app = Starlette(routes=[Route("/health", health), Route("/runs", submit, methods=["POST"])])
    with serving(app) as url:
        link = EngineLink(url, store=RunStore(tmp_path))
        assert "twospeeds.run/9" in link.health().message and "same version" in link.health().message
        with pytest.raises(EngineRefused, match=r"twospeeds\.run/9"):
            link.submit("once", SHORT)
    assert not asked
