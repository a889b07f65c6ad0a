"""Writes the record of a request that nobody computed: the same events as a real run's, evidence "simulated".

Times are virtual nanoseconds. Tokens are counted and unknown, so there is no text and there are no odds; bytes and
operations come from the same formulas as a real run's.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache

from engine import __version__
from engine.account.cost import Rates
from engine.account.record import (
    Admitted,
    Device,
    Emission,
    End,
    Error,
    Event,
    Header,
    ModelShape,
    Pass,
    Preempted,
    Queued,
    Run,
    Sampling,
    Token,
)  # fmt: skip
from engine.account.step_time import Work
from engine.loop.arrivals import Arrival
from engine.loop.sequence import Part, Sequence

UNKNOWN = Token.unknown()
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
"""When a virtual clock starts; so that the same simulation is the same to the last byte."""


class SimulatedRun:
    """One request: its sequence, and the events so far. Instants are given on the virtual clock."""

    def __init__(
        self, ticket: int, arrival: Arrival, shape: ModelShape, rates: Rates, device: Device, sequence: Sequence
    ) -> None:
        self.sequence = sequence
        self._arrival_ns = arrival.at_ns
        self._rates = rates
        self._n_passes = 0
        self._events: list[Event] = [
            Header(
                index=0,
                run_id=sequence.run_id,
                created=(EPOCH + timedelta(microseconds=arrival.at_ns / 1000)).isoformat(timespec="milliseconds"),
                evidence="simulated",
                model=shape,
                device=device,
                prompt="",
                prompt_tokens=[UNKNOWN] * arrival.n_prompt,
                sampling=Sampling(max_new_tokens=arrival.n_new, ignore_eos=True),
                engine_version=__version__,
                serving=sequence.serving,
                ticket=ticket,
            )
        ]

    def queued(self, at_ns: int, ahead: int) -> None:
        """It waits behind so many."""
        self._events.append(Queued(len(self._events), at_ns - self._arrival_ns, ahead))

    def admitted(self, at_ns: int) -> None:
        """It leaves the queue."""
        self._events.append(Admitted(len(self._events), at_ns - self._arrival_ns))

    def preempted(self, at_ns: int, positions: int) -> None:
        """It gave its memory up."""
        self._events.append(Preempted(len(self._events), at_ns - self._arrival_ns, positions))

    def passed(
        self, part: Part, work: Work, start_ns: int, end_ns: int, shared_by: int, step_weight_bytes: int
    ) -> None:
        """One pass is over; `part` as it was before the pass, `work` the same in numbers."""
        n_tokens, start, n_logits = work
        kept = not part.sequence.recomputes
        cost = self._rates.pass_cost(start, n_tokens, n_logits, step_weight_bytes, kept=kept)
        self._events.append(
            Pass(
                len(self._events), self._n_passes, part.phase, _unknown_ids(n_tokens), start, shared_by,
                start_ns - self._arrival_ns, end_ns - self._arrival_ns, *cost,
                _emitted(start + n_tokens) if n_logits else [],
            )
        )  # fmt: skip
        self._n_passes += 1

    def ended(self, at_ns: int) -> None:
        """It has all the tokens that it asked for."""
        self._events.append(End(len(self._events), "length", at_ns - self._arrival_ns))

    def refused(self, message: str) -> None:
        """It cannot be served, however long it waits."""
        self._events.append(Error(len(self._events), "does_not_fit", message, 0))

    @property
    def run(self) -> Run:
        """The record so far."""
        return Run(self._events)


# Shared by all runs, since there is nothing in them but a number: a million passes stay small.
@cache
def _unknown_ids(count: int) -> list[int]:
    return [UNKNOWN.id] * count


@cache
def _emitted(position: int) -> list[Emission]:
    return [Emission(UNKNOWN, position, [], None)]
