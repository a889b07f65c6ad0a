"""Work that may wait: done piece by piece on the engine's thread, only while no request wants a step."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Generator
from typing import Any


class EngineClosed(RuntimeError):
    """The engine was closed before the work was done."""


class Job:
    """One generator's work; its return value is the result."""

    def __init__(self, work: Generator[None, None, Any]) -> None:
        self._work = work
        self._result: Any = None
        self._error: BaseException | None = None
        self.done = threading.Event()

    def advance(self) -> None:
        """Do one piece."""
        try:
            next(self._work)
        except StopIteration as finished:
            self._result = finished.value
            self.done.set()
        except Exception as error:
            self._error = error
            self.done.set()

    def abandon(self, error: BaseException) -> None:
        """Give up: the generator cleans up, whoever waits gets the error."""
        self._work.close()
        self._error = error
        self.done.set()

    def result(self) -> Any:
        """What the work returned; raises what it raised."""
        if self._error is not None:
            raise self._error
        return self._result


class IdleJobs:
    """Jobs in order of arrival; added from any thread, advanced by the engine's."""

    def __init__(self) -> None:
        self._jobs: deque[Job] = deque()
        self._closed = False

    def add(self, work: Generator[None, None, Any]) -> Job:
        """Put work at the end of the line."""
        job = Job(work)
        self._jobs.append(job)
        if self._closed:
            self.close()
        return job

    def advance(self) -> bool:
        """Do one piece of the first job; False if there is none."""
        if not self._jobs:
            return False
        job = self._jobs[0]
        job.advance()
        if job.done.is_set():
            self._jobs.remove(job)
        return True

    def close(self) -> None:
        """Abandon what is left, and whatever comes later."""
        self._closed = True
        while self._jobs:
            self._jobs.popleft().abandon(EngineClosed("The engine is shutting down."))
