"""A real app, a real engine and a real browser. One server for the session; an unknown visitor for each test."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.browser import network

ROOT = Path(__file__).resolve().parents[3]
ENGINE_READY_S = 120


def free_port() -> int:
    """A loopback port that nobody listens on just now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class App:
    """`streamlit run app.py` as its own process group, with its log kept in a file."""

    def __init__(self, folder: Path, **environment: str) -> None:
        self.url = f"http://127.0.0.1:{(port := free_port())}"
        self.folder = folder
        self.log = folder / "app.log"
        command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)]
        home = {"TWOSPEEDS_HOME": str(folder / "home")}
        self.process = subprocess.Popen(
            command,
            cwd=ROOT,
            stdout=self.log.open("w"),
            stderr=subprocess.STDOUT,
            env=os.environ | home | environment,
            start_new_session=True,
        )

    def wait_until(self, path: str, is_ready, seconds: float) -> None:
        """Poll a route until its answer satisfies `is_ready`; fail with the log's end when the time is over."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                if is_ready(httpx.get(self.url + path, timeout=5)):
                    return
            except httpx.HTTPError:
                pass
            time.sleep(0.2)
        raise AssertionError(f"{path} was not ready after {seconds} s; the log ends:\n{self.log.read_text()[-3000:]}")

    def stop(self) -> None:
        """End it as Ctrl-C would."""
        self.process.terminate()
        self.process.wait(20)


@contextmanager
def ready_app(folder: Path, **environment: str) -> Iterator[App]:
    """An app whose engine has loaded its model."""
    running = App(folder, **environment)
    try:
        running.wait_until("/_stcore/health", lambda answer: answer.status_code == 200, 60)
        running.wait_until("/twospeeds/health", lambda answer: answer.json().get("status") == "ready", ENGINE_READY_S)
        yield running
    finally:
        running.stop()


@pytest.fixture(scope="session")
def app(tmp_path_factory) -> Iterator[App]:
    """The app that tests share and leave well."""
    folder = tmp_path_factory.mktemp("app")
    with ready_app(folder, **network.watching(folder)) as running:
        yield running
    assert "Traceback" not in running.log.read_text(), "the app logged an error while the tests used it"
    assert network.asked_outside(running.folder) == [], "the app or its engine asked outside while the tests used it"


@pytest.fixture(scope="session")
def one_context(browser, browser_context_args):
    """A browser that has loaded Streamlit's files once: loading and compiling them takes longer than most tests."""
    return browser.new_context(**browser_context_args)


@pytest.fixture
def context(one_context, app):
    """The visitor of one test, who leaves neither cookies nor storage behind."""
    yield one_context
    for page in one_context.pages:
        page.close()
    one_context.clear_cookies()
    broom = one_context.new_page()
    broom.goto(app.url + "/_stcore/health")
    broom.evaluate("localStorage.clear()")
    broom.close()


@pytest.fixture
def own_app(tmp_path: Path) -> Iterator[App]:
    """An app of its own, for a test that does it harm."""
    with ready_app(tmp_path) as running:
        yield running


def settled(page) -> None:
    """Wait until Streamlit has finished the script run that the last action caused."""
    page.wait_for_function("document.querySelector('[data-testid=stApp]')?.dataset.testScriptState === 'notRunning'")
