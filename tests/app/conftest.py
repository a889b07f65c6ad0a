"""The app's own routes on a real server, beside a scripted engine in a process of its own."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from starlette.applications import Starlette
from websockets.sync.client import ClientConnection, connect

from engine.serve.launch import Supervisor
from tests.engine.serve.conftest import PATIENCE_S, serving, until
from views import relay
from views.engine_link import EngineLink
from views.store import RunStore


def scripted(step_ms: float) -> Supervisor:
    """A supervisor of a scripted engine that makes a token every `step_ms`."""
    command = [sys.executable, "-m", "tests.engine.serve.scripted", "--lifeline", "--step-ms", str(step_ms)]
    return Supervisor(command, backoff_s=(0.05, 0.1))


@contextmanager
def linked(folder: Path, step_ms: float = 1) -> Iterator[EngineLink]:
    """A link whose engine is ready and whose store is in `folder`."""
    link = EngineLink(supervisor=scripted(step_ms), store=RunStore(folder))
    link.start()
    try:
        until(lambda: link.health().status == "ready", "the engine")
        yield link
    finally:
        link.close()


@contextmanager
def relaying(link: EngineLink, base: str = "") -> Iterator[str]:
    """The app's routes for this link; gives their address without the scheme."""
    with serving(Starlette(routes=relay.routes(base, lambda: link))) as url:
        yield url.removeprefix("http://") + base


@pytest.fixture(scope="session")
def link(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineLink]:
    """An engine that makes a token a millisecond, for tests that leave it alive."""
    with linked(tmp_path_factory.mktemp("store")) as ready:
        yield ready


@pytest.fixture
def own_link(tmp_path: Path) -> Iterator[EngineLink]:
    """An engine that makes a token every twenty milliseconds, for a test that may kill it."""
    with linked(tmp_path, 20) as ready:
        yield ready


@pytest.fixture(scope="session")
def slow_link(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineLink]:
    """As slow, for tests that leave it alive and idle."""
    with linked(tmp_path_factory.mktemp("store"), 20) as ready:
        yield ready


@pytest.fixture(scope="session")
def at(link: EngineLink) -> Iterator[str]:
    with relaying(link) as address:
        yield address


@pytest.fixture
def own_at(own_link: EngineLink) -> Iterator[str]:
    with relaying(own_link) as address:
        yield address


@pytest.fixture(scope="session")
def slow_at(slow_link: EngineLink) -> Iterator[str]:
    with relaying(slow_link) as address:
        yield address


def watch(at: str, run_id: str, start: int = 0, **options) -> ClientConnection:
    """Open the WebSocket of a run."""
    return connect(f"ws://{at}/twospeeds/runs/{run_id}?from={start}", open_timeout=PATIENCE_S, proxy=None, **options)


def messages(socket: ClientConnection) -> Iterator[dict]:
    """Every message until the server closes."""
    for text in socket:
        yield json.loads(text)


def whole_log(at: str, run_id: str, start: int = 0) -> tuple[list[dict], dict]:
    """All events from `start` on, checked to be without gap or repetition, and the last message."""
    events: list[dict] = []
    with watch(at, run_id, start) as socket:
        for message in messages(socket):
            if "events" not in message:
                return events, message
            assert message["from"] == start + len(events)
            events += message["events"]
    raise AssertionError("the server closed without a last word")
