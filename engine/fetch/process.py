"""A fetch in a process of its own, watched from another one: what a page shows while a model is brought here.

The process is `python -m engine fetch NAME --json`. It needs torch's packages and a network, and may take minutes;
whoever starts it needs neither, and never waits. It ends with the terminal or service that the starter runs in, and
leaves nothing half-done behind.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class FetchState:
    """How far a fetch is."""

    name: str
    what: str = "start"
    """What is being done, in the fetch's own words."""
    done: int = 0
    total: int | None = None
    """Bytes of `what`; None where nobody knows how many there will be."""
    ended: bool = False
    problem: str | None = None
    """Why it failed; None if it did not."""

    @property
    def share(self) -> float | None:
        """Of `what`, from 0 to 1; None if it is not known."""
        return min(1.0, self.done / self.total) if self.total else None


def fetch_command(name: str) -> list[str]:
    """What is run."""
    return [sys.executable, "-m", "engine", "fetch", name, "--json"]


class FetchProcess:
    """One fetch, begun when it is made; `state` is what it last said. Any thread may read it."""

    def __init__(self, name: str, command: Sequence[str] | None = None) -> None:
        self.state = FetchState(name)
        self._thread = threading.Thread(target=self._follow, args=(command or fetch_command(name),), daemon=True)
        self._thread.start()

    def wait(self, seconds: float) -> FetchState:
        """Wait for its end, but no longer than that."""
        self._thread.join(seconds)
        return self.state

    def _follow(self, command: Sequence[str]) -> None:
        problem: str | None = "the fetch ended without saying how"
        try:
            with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
                assert process.stdout is not None
                for line in process.stdout:
                    said = _read(line)
                    if "what" in said:
                        self.state = replace(self.state, **{key: said[key] for key in ("what", "done", "total")})
                    elif "error" in said:
                        problem = str(said["error"])
                    elif "folder" in said:
                        problem = None
        except OSError as error:
            problem = f"the fetch could not be started: {error}"
        self.state = replace(self.state, ended=True, problem=problem)


def _read(line: str) -> dict[str, Any]:
    try:
        said = json.loads(line)
    except ValueError:
        return {}  # a library that greets on standard output
    return said if isinstance(said, dict) else {}
