"""The log of one outside run while it grows: events in order, each with its index and the time on this clock."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime

from engine import __version__
from engine.account.outside_record import Chunk, Counted, OutsideEvent, OutsideHeader, OutsideRun, Route
from engine.account.record import End, Error, FinishReason, Sampling
from engine.outside.server import OutsideError, OutsideServer

MAX_CHUNKS = 50_000
MAX_TEXT = 200_000
"""Characters. What is longer than both is cut off with an error: no page draws it."""

_REASONS: dict[str, FinishReason] = {"length": "length", "abort": "cancelled"}


class OutsideLog:
    """Collects a run; `tell` hears every event at once."""

    def __init__(
        self, server: OutsideServer, prompt: str, sampling: Sampling, run_id: str, tell: Callable[[OutsideEvent], None]
    ) -> None:
        self.run = OutsideRun([])
        self._server = server
        self._run_id = run_id
        self.prompt = prompt
        self.sampling = sampling
        self._tell = tell
        self._n_chunks = 0
        self._n_characters = 0
        self._sent_ns = time.monotonic_ns()
        self._sent_at = datetime.now(UTC)
        self.model = server.model or ""
        self.route: Route = "completions"

    def sent(self, route: Route) -> None:
        """The request leaves now: the clock starts, anew where another route was tried before."""
        self.route = route
        self._sent_at = datetime.now(UTC)
        self._sent_ns = time.monotonic_ns()

    def now_ns(self) -> int:
        """Since the request was sent."""
        return time.monotonic_ns() - self._sent_ns

    def begin(self) -> None:
        """The server has accepted: the header stands."""
        if self.run.events:
            return
        created = self._sent_at.isoformat(timespec="milliseconds")
        self._add(
            OutsideHeader(
                0, self._run_id, created, self._server.name, self.model, self.route, self.prompt, self.sampling,
                __version__,
            )
        )  # fmt: skip

    def chunk(self, at_ns: int, text: str) -> None:
        """A piece of text came; raises `OutsideError` beyond what a record takes."""
        self._n_characters += len(text)
        if self._n_chunks >= MAX_CHUNKS or self._n_characters > MAX_TEXT:
            raise OutsideError("too_much", "The outside engine sent more text than one run can hold.")
        self._add(Chunk(len(self.run.events), self._n_chunks, at_ns, text))
        self._n_chunks += 1

    def counted(self, prompt_tokens: int | None, new_tokens: int | None) -> None:
        """The server's count has come."""
        self._add(Counted(len(self.run.events), self.now_ns(), prompt_tokens, new_tokens))

    def end(self, reason: str) -> None:
        """It ended; what servers call it becomes one of our own three reasons."""
        self._add(End(len(self.run.events), _REASONS.get(reason, "stop"), self.now_ns()))

    def cancel(self) -> None:
        """It was stopped from this side."""
        self.begin()
        self._add(End(len(self.run.events), "cancelled", self.now_ns()))

    def fail(self, code: str, message: str) -> None:
        """It failed, perhaps before it began."""
        self.begin()
        self._add(Error(len(self.run.events), code, message, self.now_ns()))

    def _add(self, event: OutsideEvent) -> None:
        self.run.events.append(event)
        self._tell(event)
