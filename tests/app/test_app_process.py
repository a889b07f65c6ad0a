"""The app as people start it: `streamlit run app.py`, its routes beside the pages, an engine that never outlives it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import psutil
import pytest

from engine.account.record import Sampling
from engine.serve.client import EngineClient
from engine.serve.launch import ROOT, EngineProcess
from tests.app.conftest import watch, whole_log
from tests.engine.serve.conftest import PATIENCE_S, until
from tests.engine.serve.test_process import SCRIPTED, gone
from views.served_files import asset_url

STARTED_S = 90


@contextmanager
def running_app(folder: Path, *options: str, **environment: str) -> Iterator[tuple[str, subprocess.Popen]]:
    """The app on a free port; gives its address without the scheme, and its process."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port), *options]
    surroundings = os.environ | {"TWOSPEEDS_HOME": str(folder)} | environment
    with (folder / "log").open("w") as log:
        app = subprocess.Popen(command, cwd=ROOT, env=surroundings, stdout=log, stderr=subprocess.STDOUT)
    try:
        yield f"127.0.0.1:{port}", app
    finally:
        app.kill()
        app.wait(PATIENCE_S)
        assert "Traceback" not in (folder / "log").read_text()


def answers(address: str) -> bool:
    try:
        return httpx.get(f"http://{address}/_stcore/health", trust_env=False, timeout=5).status_code == 200
    except httpx.HTTPError:
        return False


@pytest.fixture(scope="module")
def engine_url() -> Iterator[str]:
    """A scripted engine, started by hand as an operator would."""
    process = EngineProcess([*SCRIPTED, "--lifeline", "--step-ms", "1"])
    url = process.read_url()
    with EngineClient(url) as client:
        until(lambda: client.health().status == "ready")
    yield url
    process.stop()


@pytest.fixture(scope="module")
def app(engine_url, tmp_path_factory) -> Iterator[tuple[str, subprocess.Popen]]:
    """The app below a base path, with an engine elsewhere."""
    folder = tmp_path_factory.mktemp("app")
    options = ("--server.baseUrlPath", "class/one")
    with running_app(folder, *options, TWOSPEEDS_ENGINE_URL=engine_url) as (address, process):
        until(lambda: answers(f"{address}/class/one"), "the app", STARTED_S)
        yield f"{address}/class/one", process


def test_the_page_is_served_and_nothing_of_ours_hides_it(app):
    address, _ = app
    page = httpx.get(f"http://{address}/", trust_env=False)
    assert page.status_code == 200 and "<title>Streamlit</title>" in page.text
    assert httpx.get(f"http://{address}/_stcore/host-config", trust_env=False).status_code == 200


def test_the_engine_s_health_is_told_at_the_page_s_own_address(app):
    address, _ = app
    told = httpx.get(f"http://{address}/twospeeds/health", trust_env=False)
    assert told.json()["status"] == "ready" and told.headers["cache-control"] == "no-store"


def test_the_component_s_code_is_served_below_the_base_path(app):
    address, _ = app
    script = next(path for path in (ROOT / "views" / "assets").rglob("*.js"))
    path = asset_url(script.relative_to(ROOT / "views" / "assets").as_posix())
    answer = httpx.get(f"http://{address}{path}", trust_env=False)
    assert answer.status_code == 200 and answer.text == script.read_text(encoding="utf-8")
    assert "immutable" in answer.headers["cache-control"]
    assert (
        httpx.get(f"http://{address}/twospeeds/assets/no.js", trust_env=False).json()["error"]["code"] == "unknown_file"
    )


def test_a_run_reaches_a_browser_through_the_page_s_own_port(app, engine_url):
    address, _ = app
    with EngineClient(engine_url) as client:
        run_id = client.submit("a", Sampling(max_new_tokens=40))
    events, last = whole_log(address, run_id)
    assert [event["index"] for event in events] == list(range(43)) and last == {"end": True, "n": 43}
    with pytest.raises(Exception, match="403"), watch(address, run_id, origin="https://evil.example"):
        pass


def test_an_app_with_an_engine_elsewhere_starts_none(app):
    _, process = app
    assert psutil.Process(process.pid).children() == []


def test_it_listens_on_loopback_alone(app):
    _, process = app
    listening = [one for one in psutil.Process(process.pid).net_connections() if one.status == psutil.CONN_LISTEN]
    assert {one.laddr.ip for one in listening} == {"127.0.0.1"}


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_an_app_that_ends_however_leaves_no_orphan(tmp_path, end):
    with running_app(tmp_path) as (address, app):
        until(lambda: answers(address), "the app", STARTED_S)
        until(lambda: [one for one in psutil.Process(app.pid).children() if "serve" in one.cmdline()], "its engine")
        engines = psutil.Process(app.pid).children(recursive=True)
        os.kill(app.pid, end)
        app.wait(PATIENCE_S)
        until(lambda: all(gone(engine.pid) for engine in engines), "the end of its engine", seconds=10)


def test_the_app_s_process_never_imports_torch(tmp_path):
    told = subprocess.run(
        [sys.executable, "-c", _IMPORT_EVERYTHING],
        cwd=ROOT,
        env=os.environ | {"TWOSPEEDS_HOME": str(tmp_path), "TWOSPEEDS_ENGINE_URL": "http://127.0.0.1:9"},
        capture_output=True,
        text=True,
        timeout=STARTED_S,
        check=False,
    )
    assert told.returncode == 0, told.stderr[-3000:]
    assert told.stdout.splitlines()[-1] == "[]"


_IMPORT_EVERYTHING = """
import importlib, pkgutil, sys
import app, views, lessons
from streamlit.testing.v1 import AppTest
for package in (views, lessons):
    for module in pkgutil.iter_modules(package.__path__):
        if module.name not in ("main", "__main__"):
            importlib.import_module(f"{package.__name__}.{module.name}")
page = AppTest.from_file("views/main.py", default_timeout=60).run()
assert not page.exception, page.exception
print([name for name in sorted(sys.modules) if name.split(".")[0] in ("torch", "transformers", "triton")])
"""
