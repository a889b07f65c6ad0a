"""The engine server as a process of its own: how it starts, what it prints, and that it never outlives its app."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import psutil
import pytest

from engine.account.record import Sampling
from engine.serve.client import EngineClient, EngineUnavailable
from engine.serve.launch import ROOT, EngineProcess, Supervisor
from tests.engine.serve.conftest import PATIENCE_S, until

SCRIPTED = [sys.executable, "-m", "tests.engine.serve.scripted"]


def gone(pid: int) -> bool:
    """Ended, even if nobody has asked for its exit code yet."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


class TestLifeline:
    def test_the_engine_ends_soon_after_a_cut(self):
        engine = EngineProcess([*SCRIPTED, "--lifeline"])
        assert engine.read_url()
        begun = time.monotonic()
        engine.stop(patience_s=PATIENCE_S)
        assert gone(engine.pid)
        assert time.monotonic() - begun < 5  # two seconds at the most, and some for a machine that is busy

    def test_an_open_stream_does_not_keep_it_alive(self):
        engine = EngineProcess([*SCRIPTED, "--lifeline", "--step-ms", "50"])
        with EngineClient(engine.read_url()) as client:
            until(lambda: client.health().status == "ready")
            events = client.events(client.submit("a", Sampling(max_new_tokens=4000)))
            next(events)
            engine.stop(patience_s=PATIENCE_S)
            assert gone(engine.pid)
            with pytest.raises(EngineUnavailable):
                list(events)

    def test_a_parent_that_is_killed_leaves_no_orphan(self):
        parent = subprocess.Popen(
            [sys.executable, "-c", _PARENT],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
        )
        assert parent.stdout is not None
        told = json.loads(parent.stdout.readline())
        assert httpx.get(f"{told['url']}/health", trust_env=False).status_code == 200
        os.kill(parent.pid, signal.SIGKILL)
        parent.wait()
        until(lambda: gone(told["pid"]), "the end of the engine", seconds=5)

    def test_without_a_lifeline_a_closed_standard_input_means_nothing(self):
        engine = EngineProcess(SCRIPTED)
        url = engine.read_url()
        engine._process.stdin.close()
        time.sleep(1.5)
        assert httpx.get(f"{url}/health", trust_env=False).status_code == 200
        engine._process.terminate()
        assert engine.wait() in (0, -signal.SIGTERM)


_PARENT = """
import json, sys, time
from engine.serve.launch import Supervisor
supervisor = Supervisor([sys.executable, "-m", "tests.engine.serve.scripted", "--lifeline"])
supervisor.start()
while supervisor.url is None:
    time.sleep(0.01)
print(json.dumps({"url": supervisor.url, "pid": supervisor.pid}), flush=True)
time.sleep(600)
"""


class TestSupervisor:
    @pytest.fixture
    def supervisor(self) -> Iterator[Supervisor]:
        keeping = Supervisor([*SCRIPTED, "--lifeline", "--step-ms", "20"], backoff_s=(0.05, 0.1))
        keeping.start()
        until(lambda: keeping.url, "the engine")
        yield keeping
        keeping.close()
        assert keeping.pid is None or gone(keeping.pid)

    def test_a_killed_engine_is_started_again_and_serves(self, supervisor):
        generation, pid = supervisor.generation, supervisor.pid
        os.kill(pid, signal.SIGKILL)
        until(lambda: supervisor.generation > generation and supervisor.url, "the restart")
        assert supervisor.pid != pid
        with EngineClient(supervisor.url) as client:
            until(lambda: client.health().status == "ready")
            run_id = client.submit("a", Sampling(max_new_tokens=2))
            assert list(client.events(run_id))[-1].reason == "length"

    def test_starting_twice_starts_one(self, supervisor):
        supervisor.start()
        assert supervisor.generation == 1

    def test_closing_ends_it_for_good(self, supervisor):
        pid = supervisor.pid
        supervisor.close()
        supervisor.close()
        assert gone(pid)
        supervisor.start()
        time.sleep(0.2)
        assert supervisor.url is None

    def test_a_command_that_cannot_be_started_is_tried_again_and_said(self):
        keeping = Supervisor(["/nonexistent/engine"], backoff_s=(0.01,))
        keeping.start()
        until(lambda: "could not be started" in keeping.health.message)
        keeping.close()

    def test_a_process_that_ends_at_once_is_tried_again_and_said(self):
        keeping = Supervisor([sys.executable, "-c", "raise SystemExit(3)"], backoff_s=(0.01,))
        keeping.start()
        until(lambda: keeping.generation >= 3)
        assert "exit code 3" in keeping.health.message and keeping.health.status == "starting"
        keeping.close()

    def test_a_library_that_greets_on_standard_output_is_passed_over(self):
        greeting = "print('hello', flush=True); print('{\"url\": \"http://x\"}', flush=True); input()"
        engine = EngineProcess([sys.executable, "-c", greeting])
        assert engine.read_url() == "http://x"
        engine.stop()


def test_a_process_whose_model_cannot_be_loaded_stays_to_say_why():
    engine = EngineProcess([*SCRIPTED, "--lifeline", "--fail", "model.safetensors is cut off"])
    with EngineClient(engine.read_url()) as client:
        until(lambda: client.health().status == "failed")
        assert client.health().message == "model.safetensors is cut off"
    engine.stop()


class TestServe:
    def run(self, *call: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", f"from engine.serve.server import serve; serve({', '.join(call)})"]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S, check=False)

    @pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "example.org"])
    def test_listening_wider_than_loopback_needs_a_token(self, host):
        ended = self.run(f"host='{host}'", "port=0")
        assert ended.returncode == 1 and "Give a token" in ended.stderr and "Traceback" not in ended.stderr

    def test_a_port_that_is_taken_is_said_plainly(self, url):
        ended = self.run(f"port={url.rsplit(':', 1)[1]}")
        assert ended.returncode == 1
        assert "cannot listen on 127.0.0.1" in ended.stderr and "Traceback" not in ended.stderr

    def test_the_log_tells_paths_and_nothing_personal(self, tmp_path: Path):
        with (tmp_path / "log").open("w") as log:
            server = subprocess.Popen(SCRIPTED, cwd=ROOT, stdout=subprocess.PIPE, stderr=log)
            url = json.loads(server.stdout.readline())["url"]
            with httpx.Client(base_url=url, trust_env=False) as http:
                until(lambda: http.get("/health").json()["status"] == "ready")
                http.post("/runs", json={"prompt": "my private diary"})
                http.post("/runs", json={"prompt": "my private diary", "sampling": {"temperature": -1}})
                http.post("/v1/completions", json={"prompt": "my private diary", "model": "story"})
                http.post("/v1/completions", json={"prompt": "my private diary", "model": "diary"})
                http.get("/runs/abc/events", params={"from": "my private diary"})
            server.terminate()
            server.wait(PATIENCE_S)
        text = (tmp_path / "log").read_text()
        assert "POST /runs 201" in text and "GET /runs/abc/events 404" in text
        assert "diary" not in text and "?" not in text


def test_asking_for_an_engine_brings_in_no_torch():
    code = (
        "import sys, engine, engine.serve.client, engine.serve.launch, engine.serve.server;"
        "print([name for name in sys.modules if name.split('.')[0] in ('torch', 'transformers', 'triton')])"
    )
    told = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"
