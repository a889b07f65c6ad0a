"""A real HTTP server on a free port around a scripted engine, in a thread of the test's own process."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import httpx
import openai
import pytest
import uvicorn

from engine.serve.client import EngineClient
from engine.serve.server import build
from tests.engine.serve.scripted import ScriptedEngine

PATIENCE_S = 30
"""Longest wait for anything in these tests: generous, since the machine may be busy with something else."""


def until(condition: Callable[[], object], what: str = "the condition", seconds: float = PATIENCE_S) -> None:
    """Wait for a condition to hold, and fail if it never does."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not come about within {seconds} s"
        time.sleep(0.01)


@contextmanager
def serving(app) -> Iterator[str]:
    """Serve an ASGI application on a free loopback port; gives its address."""
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False, timeout_graceful_shutdown=1))
    server.install_signal_handlers = lambda: None
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        until(lambda: server.started, "the server")
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(PATIENCE_S)
        listening.close()


@contextmanager
def engine_server(engine: ScriptedEngine, **options) -> Iterator[str]:
    with serving(build(lambda: engine, sweep_s=0.02, **options)) as url:
        with EngineClient(url, options.get("token")) as client:
            until(lambda: client.health().status == "ready", "the engine")
        yield url


def ask(url: str) -> openai.OpenAI:
    """The official client, which asks each thing once."""
    http = httpx.Client(trust_env=False)
    return openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0, timeout=PATIENCE_S, http_client=http)


@pytest.fixture(scope="session")
def url() -> Iterator[str]:
    """A server whose engine makes a token as fast as it can."""
    with engine_server(ScriptedEngine()) as address:
        yield address


@pytest.fixture
def slow_url() -> Iterator[str]:
    """A server whose engine makes a token every 20 ms."""
    with engine_server(ScriptedEngine(0.02)) as address:
        yield address


@pytest.fixture
def client(url: str) -> Iterator[EngineClient]:
    with EngineClient(url) as asking:
        yield asking


@pytest.fixture
def slow_client(slow_url: str) -> Iterator[EngineClient]:
    with EngineClient(slow_url) as asking:
        yield asking


@pytest.fixture
def ai(url: str) -> Iterator[openai.OpenAI]:
    """The same server as `client`, asked with the official OpenAI client."""
    with ask(url) as asking:
        yield asking


@pytest.fixture
def http(url: str) -> Iterator[httpx.Client]:
    """The same server as `client`, asked by hand."""
    with httpx.Client(base_url=url, trust_env=False, timeout=PATIENCE_S) as asking:
        yield asking
