"""Starting the engine server from another process, and keeping one alive.

`EngineProcess` is one server process with its lifeline; `Supervisor` starts one, notices when it dies, and starts the
next. Nothing here imports torch.
"""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from engine.serve import wire

ROOT = Path(__file__).resolve().parents[2]

BACKOFF_S = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
"""Waits before one restart after another; a process that lived longer than the last of them starts the row anew."""

_log = logging.getLogger(__name__)


def default_command() -> list[str]:
    """The command that serves the bundled model on a free loopback port until its lifeline is cut."""
    return [sys.executable, "-m", "engine", "serve", "--port", "0", "--lifeline"]


class EngineProcess:
    """One engine server. Its standard input is the lifeline: it ends when this process does, however that happens."""

    def __init__(self, command: Sequence[str], cwd: Path = ROOT) -> None:
        # A session of its own: Ctrl+C in the terminal ends the app, and the app ends the engine.
        self._process = subprocess.Popen(
            list(command), cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        )

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def read_url(self) -> str | None:
        """Wait for the line that tells the address; None if the process ended without one."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            try:
                return str(json.loads(line)["url"])
            except (ValueError, KeyError, TypeError):
                continue  # a library that greets on standard output
        return None

    def wait(self) -> int:
        """Wait for the end, reading away what it prints (a full pipe would stop it); returns the exit code."""
        assert self._process.stdout is not None
        while self._process.stdout.read(4096):
            pass
        return self._process.wait()

    def stop(self, patience_s: float = 3.0) -> None:
        """Cut the lifeline, and kill what has not ended after `patience_s`. Idempotent."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(patience_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class Supervisor:
    """Keeps one engine process alive, from `start` to `close`.

    `url` is None while none answers. `generation` counts the processes: a run of an earlier generation is lost.
    """

    def __init__(self, command: Sequence[str] | None = None, backoff_s: Sequence[float] = BACKOFF_S) -> None:
        self._command = list(command or default_command())
        self._backoff_s = backoff_s
        self._process: EngineProcess | None = None
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None
        self.url: str | None = None
        self.generation = 0
        self.health = wire.Health("starting", "The engine is starting.")
        """What to say of the engine while `url` is None."""

    @property
    def pid(self) -> int | None:
        """The running process's id; None while there is none."""
        process = self._process
        return process.pid if process else None

    def start(self) -> None:
        """Begin; returns at once. Idempotent."""
        with self._lock:
            if self._thread is None and not self._closing.is_set():
                self._thread = threading.Thread(target=self._keep_alive, name="engine-supervisor", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """End the engine and stop watching. Idempotent."""
        with self._lock:
            self._closing.set()
            process = self._process
        if process is not None:
            process.stop()
        if self._thread is not None:
            self._thread.join(timeout=10)

    def _keep_alive(self) -> None:
        failures = 0
        while not self._closing.is_set():
            begun = time.monotonic()
            outcome = self._live_once()
            if self._closing.is_set():
                return
            failures = 0 if time.monotonic() - begun > self._backoff_s[-1] else failures + 1
            pause = self._backoff_s[min(failures, len(self._backoff_s)) - 1] if failures else self._backoff_s[0]
            _log.warning("the engine process ended (%s); it is started again in %.1f s", outcome, pause)
            self.health = wire.Health("starting", f"The engine stopped ({outcome}) and is being started again.")
            self._closing.wait(pause)

    def _live_once(self) -> str:
        """Start a process and stay with it to its end; returns how it ended."""
        try:
            with self._lock:
                if self._closing.is_set():
                    return "closing"
                self._process = process = EngineProcess(self._command)
        except OSError as error:
            return f"it could not be started: {error}"
        self.generation += 1
        try:
            self.url = process.read_url()
            code = process.wait()
        finally:
            self.url = None
            self._process = None
        return f"killed by signal {-code}" if code < 0 else f"exit code {code}"
