"""Writes one run's record while it runs.

It stands on the engine's thread between one step and the next, so it does only what must be done then: a few small
objects, costs from constants worked out beforehand. Encoding is left to whoever reads.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import msgspec

from engine import __version__
from engine.account.cost import Rates
from engine.account.record import (
    Candidate,
    Device,
    Emission,
    End,
    Error,
    FinishReason,
    Header,
    ModelShape,
    Pass,
    Queued,
    Sampling,
    Token,
)  # fmt: skip
from engine.loop.request import Request
from engine.loop.run_log import RunLog
from engine.loop.sampler import Choice
from engine.loop.scheduler import Part


class Recorder:
    """The pen of one run. All instants that it is given are on the engine's clock; it writes them relative to the
    arrival.
    """

    def __init__(self, log: RunLog, arrival_ns: int, rates: Rates, token: Callable[[int], Token]) -> None:
        self.log = log
        self._arrival_ns = arrival_ns
        self._rates = rates
        self._token = token
        self._n_passes = 0

    def header(self, request: Request, prompt_ids: list[int], shape: ModelShape, device: Device) -> None:
        """First line: what was asked, of which model, on which machine."""
        self.log.append(
            Header(
                index=len(self.log),
                run_id=self.log.run_id,
                created=datetime.now(UTC).isoformat(timespec="milliseconds"),
                evidence="measured",
                model=shape,
                device=device,
                prompt=request.prompt,
                prompt_tokens=[self._token(i) for i in prompt_ids],
                sampling=Sampling(**msgspec.structs.asdict(request.sampling)),
                engine_version=__version__,
            )
        )

    def queued(self, at_ns: int, ahead: int) -> None:
        """The request waits behind `ahead` others."""
        self.log.append(Queued(len(self.log), at_ns - self._arrival_ns, ahead))

    def passed(
        self, part: Part, choice: Choice | None, start_ns: int, end_ns: int, shared_by: int, step_weight_bytes: int
    ) -> None:
        """One pass is over; `part` as it was before the pass, `choice` the token that it gave, if any."""
        start = part.sequence.n_held
        cost = self._rates.pass_cost(start, part.n_tokens, int(choice is not None), step_weight_bytes)
        self.log.append(
            Pass(
                len(self.log), self._n_passes, part.phase, part.token_ids, start, shared_by,
                start_ns - self._arrival_ns, end_ns - self._arrival_ns, *cost,
                [] if choice is None else [self._emission(choice, start + part.n_tokens)],
            )
        )  # fmt: skip
        self._n_passes += 1

    def ended(self, reason: FinishReason, at_ns: int) -> None:
        """Last line of a run that ended as it should."""
        self.log.append(End(len(self.log), reason, at_ns - self._arrival_ns))

    def failed(self, code: str, message: str, at_ns: int) -> None:
        """Last line of a run that failed."""
        self.log.append(Error(len(self.log), code, message, at_ns - self._arrival_ns))

    def _emission(self, choice: Choice, position: int) -> Emission:
        odds, token = choice.odds, self._token
        assert odds is not None
        candidates = [
            Candidate(token(i), model, tempered, sampled)
            for i, model, tempered, sampled in zip(odds.ids, odds.model, odds.tempered, odds.sampled, strict=True)
        ]
        return Emission(token(choice.token_id), position, candidates, odds.rank)
