"""What a fetch tells of itself while it goes on: bars for a person at a shell, lines of JSON for a program."""

from __future__ import annotations

import contextlib
import json
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol, Self

LOOK_S = 0.1
"""How often the bytes that others write are counted."""
SAY_S = 0.25
"""How often a program is told at most; a page need not know more."""


class Reports(Protocol):
    """Who is told. One thing goes on at a time."""

    def begin(self, what: str, total: int | None = None) -> None:
        """Something new begins, of so many bytes if that is known."""

    def reach(self, done: int) -> None:
        """So many bytes of it are done."""


class Silent:
    """Tells nobody."""

    def begin(self, what: str, total: int | None = None) -> None:
        """Not told."""

    def reach(self, done: int) -> None:
        """Not told."""


class Bars:
    """A progress bar for each thing that went on; a context manager."""

    def __init__(self) -> None:
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

        self._progress = Progress(TextColumn("{task.description}"), BarColumn(), DownloadColumn())
        self._task = self._progress.add_task("", visible=False)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def begin(self, what: str, total: int | None = None) -> None:
        """A new bar, below the others."""
        self._task = self._progress.add_task(what, total=total)

    def reach(self, done: int) -> None:
        """Move the newest bar."""
        self._progress.update(self._task, completed=done)


class Lines:
    """A line of JSON on standard output for each thing that begins, and for its progress: `what`, `done`, `total`."""

    def __init__(self) -> None:
        self._now: dict[str, Any] = {}
        self._said = 0.0

    def begin(self, what: str, total: int | None = None) -> None:
        """Told at once."""
        self._now = {"what": what, "done": 0, "total": total}
        self._say()

    def reach(self, done: int) -> None:
        """Told now and then."""
        self._now["done"] = done
        if time.monotonic() - self._said > SAY_S:
            self._say()

    def _say(self) -> None:
        self._said = time.monotonic()
        say(**self._now)


def say(**fields: Any) -> None:
    """One line, at once."""
    print(json.dumps(fields), file=sys.stdout, flush=True)


@contextlib.contextmanager
def counted(folder: Path, reports: Reports, most: int | None = None) -> Iterator[None]:
    """Report the bytes that another program or library writes into a folder meanwhile, up to `most`."""
    over = threading.Event()

    def count() -> None:
        while not over.wait(LOOK_S):
            done = bytes_in(folder)
            reports.reach(done if most is None else min(done, most))

    thread = threading.Thread(target=count, name="fetch-count", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def bytes_in(folder: Path) -> int:
    """Of all files in it, as far as they are there when they are looked at."""
    total = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(FileNotFoundError):  # whoever writes moves files about
            total += path.stat().st_size
    return total
