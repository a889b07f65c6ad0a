"""Steps of an engine over a while, whoever made them: the real engine now, the real engine earlier, the virtual clock.

Figures about sharing need the engine's side, the step rows, and of each request when it came. A measurement is one or
more such playbacks with the machine that they were taken on, kept in lessons/measurements as JSON.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, cached_property
from itertools import pairwise
from pathlib import Path

import msgspec

from engine.account.record import Run
from engine.account.step_record import Share, StepRow
from engine.loop.policy import Policy

MEASUREMENTS = Path(__file__).resolve().parent / "measurements"


class Playback(msgspec.Struct, frozen=True, dict=True):
    """What one engine did. All times are nanoseconds on one clock, on which the first request came at 0 or later."""

    name: str
    policy: Policy
    rows: list[StepRow]
    arrivals: dict[int, int]
    """Ticket -> when the request came."""
    prompts: dict[int, int]
    """Ticket -> prompt tokens."""

    def moved(self, by_ns: int) -> Playback:
        """The same on a clock that begins so much later."""
        rows = [_moved(row, by_ns) for row in self.rows]
        arrivals = {ticket: at - by_ns for ticket, at in self.arrivals.items()}
        return msgspec.structs.replace(self, rows=rows, arrivals=arrivals)

    def between(self, start_ns: int, end_ns: int) -> Playback:
        """The steps that began in this stretch of time, on a clock that begins with the first of them. Whoever came
        before counts as come then. There must be a step in it.
        """
        rows = [row for row in self.rows if start_ns <= row.start_ns <= end_ns]
        first = rows[0].start_ns
        arrivals = {ticket: max(at, first) for ticket, at in self.arrivals.items()}
        return msgspec.structs.replace(self, rows=rows, arrivals=arrivals).moved(first)

    @property
    def end_ns(self) -> int:
        """When the last step ended; 0 without steps."""
        return self.rows[-1].end_ns if self.rows else 0

    @property
    def n_tokens(self) -> int:
        """Tokens that came out for these requests; others may have taken part in the steps."""
        return sum(share.emitted for row in self.rows for share in row.shares if share.ticket in self.arrivals)

    @property
    def tokens_per_s(self) -> float | None:
        """New tokens of everybody over the time from the first step's start to the last one's end."""
        busy = self.end_ns - self.rows[0].start_ns if self.rows else 0
        return self.n_tokens * 1e9 / busy if busy else None

    def shares_of(self, ticket: int) -> list[tuple[StepRow, Share]]:
        """The steps that a request took part in, with its part."""
        return self._shares.get(ticket, [])

    @cached_property
    def _shares(self) -> dict[int, list[tuple[StepRow, Share]]]:
        found: dict[int, list[tuple[StepRow, Share]]] = {}
        for row in self.rows:
            for share in row.shares:
                found.setdefault(share.ticket, []).append((row, share))
        return found

    def token_ns(self, ticket: int) -> list[int]:
        """When each of a request's tokens existed."""
        return [row.end_ns for row, share in self.shares_of(ticket) for _ in range(share.emitted)]

    def gaps_ns(self, ticket: int) -> list[int]:
        """From each of its tokens to the next."""
        tokens = self.token_ns(ticket)
        return [later - earlier for earlier, later in pairwise(tokens)]

    def ttft_ns(self, ticket: int) -> int | None:
        """From its arrival to its first token; None if none came."""
        tokens = self.token_ns(ticket)
        return tokens[0] - self.arrivals[ticket] if tokens else None


class Measurement(msgspec.Struct, frozen=True):
    """Playbacks taken from the real engine, with what one must know of them."""

    created: str
    """Day and time, ISO 8601, UTC."""
    model: str
    machine: str
    threads: int
    how: str
    """How they were taken and which of several were kept, in words."""
    playbacks: list[Playback]


def of_engine(name: str, policy: Policy, runs: Sequence[Run], rows: Sequence[StepRow]) -> Playback | None:
    """A playback of finished runs from the engine's rows, begun at 0; None if their steps are not kept any more.

    A run counts from its own arrival and a row from the engine's start: the first pass is in both, and ties them.
    """
    arrivals: dict[int, int] = {}
    for run in runs:
        ticket = run.header.ticket
        first = next((row for row in rows if any(share.ticket == ticket for share in row.shares)), None)
        if ticket is None or first is None or not run.passes:
            return None
        arrivals[ticket] = first.start_ns - run.passes[0].start_ns
    begun = min(arrivals.values())
    taken = [row for row in rows if any(share.ticket in arrivals for share in row.shares)]
    within = [row for row in rows if taken[0].number <= row.number <= taken[-1].number]
    prompts = {run.header.ticket or 0: len(run.header.prompt_tokens) for run in runs}
    return Playback(name, policy, within, arrivals, prompts).moved(begun)


def measurement(name: str) -> Measurement:
    """A kept measurement; raises `OSError` or `msgspec.DecodeError`."""
    path = MEASUREMENTS / f"{name}.json"
    return _load(path, path.stat().st_mtime_ns)


def save(name: str, taken: Measurement, folder: Path = MEASUREMENTS) -> Path:
    """Keep a measurement; raises `OSError`."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.json"
    path.write_bytes(msgspec.json.encode(taken) + b"\n")
    return path


def _moved(row: StepRow, by_ns: int) -> StepRow:
    return msgspec.structs.replace(row, start_ns=row.start_ns - by_ns, end_ns=row.end_ns - by_ns)


@cache
def _load(path: Path, _changed: int) -> Measurement:
    return msgspec.json.decode(path.read_bytes(), type=Measurement)
