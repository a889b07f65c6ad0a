"""Writes one run's record while it runs.

It stands on the engine's thread between one step and the next, so there it only notes what happened, in a microsecond
or two. A note becomes an event, with odds and costs, when somebody reads the log: many in one go. Right after a step
each would cost several times as much, since its code would have to come back into a cache that is full of weights.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence as Many
from datetime import UTC, datetime
from typing import NamedTuple

import msgspec

from engine import __version__
from engine.account.cost import Rates
from engine.account.record import (
    Admitted,
    Candidate,
    Device,
    Emission,
    End,
    Error,
    FinishReason,
    Header,
    ModelShape,
    Pass,
    Phase,
    Preempted,
    Queued,
    Sampling,
    Token,
    Transferred,
)  # fmt: skip
from engine.loop.leg import Arrived
from engine.loop.queueing import Place
from engine.loop.request import Request
from engine.loop.result import Choice
from engine.loop.run_log import RunLog
from engine.loop.sampler import odds
from engine.loop.sequence import Part


class Reused(NamedTuple):
    """What a prefix checkpoint gave: positions that need no computing, bytes shared, bytes copied; zeros if none."""

    positions: int
    kv_bytes: int
    state_bytes: int


class PassNote(NamedTuple):
    """One pass as noted on the engine's thread; `event()` writes it out."""

    recorder: Recorder
    place: int
    number: int
    phase: Phase
    token_ids: list[int]
    start_position: int
    shared_by: int
    start_ns: int
    end_ns: int
    step_weight_bytes: int
    choices: Many[Choice]
    drafted: int
    recomputes: bool

    def event(self) -> Pass:
        """The pass with its costs and odds."""
        return self.recorder.write(self)


class Recorder:
    """The pen of one run. It is given instants on the engine's clock and writes them relative to the arrival."""

    def __init__(
        self, log: RunLog, request: Request, arrival_ns: int, rates: Rates, token: Callable[[int], Token]
    ) -> None:
        self.log = log
        self._request = request
        self._sampling = Sampling(**msgspec.structs.asdict(request.sampling))
        self._arrival_ns = arrival_ns
        self._rates = rates
        self._token = token
        self._n_passes = 0

    def header(self, prompt_ids: list[int], shape: ModelShape, device: Device, ticket: int) -> None:
        """First line: what was asked, of which model, on which machine."""
        self.log.append(
            Header(
                index=len(self.log),
                run_id=self.log.run_id,
                created=datetime.now(UTC).isoformat(timespec="milliseconds"),
                evidence="measured",
                model=shape,
                device=device,
                prompt=self._request.prompt,
                prompt_tokens=[self._token(i) for i in prompt_ids],
                sampling=self._sampling,
                engine_version=__version__,
                serving=self._request.serving,
                ticket=ticket,
            )
        )

    def queued(self, at_ns: int, place: Place) -> None:
        """The request has this place in the queue."""
        self.log.append(
            Queued(
                len(self.log), at_ns - self._arrival_ns, place.ahead, place.number, place.expected_wait_ns,
                place.estimated_from, place.reserved_until,
            )
        )  # fmt: skip

    def admitted(self, at_ns: int, reused: Reused | None) -> None:
        """The request joins the batch; `reused` says what a prefix checkpoint gave it, if one was looked for."""
        self.log.append(Admitted(len(self.log), at_ns - self._arrival_ns, *(reused or ())))

    def transferred(self, at_ns: int, arrived: Arrived) -> None:
        """What another engine had computed is here. From this engine's view it began to move when the request came;
        who knows the sender's clock writes the earlier instant.
        """
        exported = arrived.exported
        self.log.append(
            Transferred(
                len(self.log), 0, at_ns - self._arrival_ns, exported.length, exported.kv_bytes, exported.state_bytes,
                exported.window_bytes, arrived.sender, arrived.receiver, arrived.fetch_ns,
            )
        )  # fmt: skip

    def preempted(self, at_ns: int, positions: int) -> None:
        """The request gave up the memory of so many positions."""
        self.log.append(Preempted(len(self.log), at_ns - self._arrival_ns, positions))

    def passed(
        self, part: Part, choices: Many[Choice], start_ns: int, end_ns: int, shared_by: int, step_weight_bytes: int
    ) -> None:
        """One pass is over; `part` as it was before the pass, `choices` the tokens that it gave."""
        self.log.append(
            PassNote(
                self, len(self.log), self._n_passes, part.phase, part.token_ids, part.start, shared_by,
                start_ns, end_ns, step_weight_bytes, choices, len(part.drafts), part.sequence.recomputes,
            )
        )  # fmt: skip
        self._n_passes += 1

    def write(self, note: PassNote) -> Pass:
        """Turn a note into the event; on whatever thread reads first."""
        accepted = max(len(note.choices) - 1, 0)
        n_known = len(note.token_ids) - note.drafted
        cost = self._rates.pass_cost(
            note.start_position, len(note.token_ids), len(note.choices) and note.drafted + 1, note.step_weight_bytes,
            drafted=note.drafted, accepted=accepted, kept=not note.recomputes,
        )  # fmt: skip
        first = note.start_position + n_known
        emitted = [self._emission(choice, first + place) for place, choice in enumerate(note.choices)]
        return Pass(
            note.place, note.number, note.phase, note.token_ids, note.start_position, note.shared_by,
            note.start_ns - self._arrival_ns, note.end_ns - self._arrival_ns, *cost, emitted, note.drafted, accepted,
        )  # fmt: skip

    def ended(self, reason: FinishReason, at_ns: int) -> None:
        """Last line of a run that ended as it should."""
        self.log.append(End(len(self.log), reason, at_ns - self._arrival_ns))

    def failed(self, code: str, message: str, at_ns: int) -> None:
        """Last line of a run that failed."""
        self.log.append(Error(len(self.log), code, message, at_ns - self._arrival_ns))

    def _emission(self, choice: Choice, position: int) -> Emission:
        found, token = odds(choice.logits, self._sampling, choice.token_id), self._token
        candidates = [
            Candidate(token(i), model, tempered, sampled)
            for i, model, tempered, sampled in zip(found.ids, found.model, found.tempered, found.sampled, strict=True)
        ]
        return Emission(token(choice.token_id), position, candidates, found.rank)
