"""One run's record, put together from what several engines wrote of their shares.

Each engine writes as if it were alone: its own header, events and passes counted from 0, instants from the moment at
which the run came to it. Here they become one log: counted through, on the front's clock, without a second header, and
with an end only where the run ends and not where it moves on.
"""

from __future__ import annotations

from collections.abc import Iterable, Set

from msgspec.structs import replace

from engine.account.record import (
    Continued,
    End,
    Error,
    Event,
    FinishReason,
    Header,
    Pass,
    Queued,
    Transferred,
)  # fmt: skip
from engine.cluster.steps import Tickets
from engine.loop.run_log import RunLog
from engine.loop.scheduler import BatchRow


class Journal:
    """The pen of one run; used by the front's relay thread, read by any."""

    def __init__(self, log: RunLog, arrival_ns: int, eos_ids: Set[int], tickets: Tickets) -> None:
        """`arrival_ns` is when the run came to the front, on its clock."""
        self.log = log
        self.emitted: list[int] = []
        self._arrival_ns = arrival_ns
        self._eos_ids = eos_ids
        self._tickets = tickets
        self._header: Header | None = None
        self._queued: Queued | None = None
        self._passes: list[Pass] = []
        self._engine: str | None = None
        self._continues = False
        self._lost: str | None = None

    @property
    def begun(self) -> bool:
        """Whether an engine has taken it."""
        return self._header is not None

    @property
    def done(self) -> bool:
        """Whether its last event is written."""
        return self.log.ended

    def take(self, engine: str, events: Iterable[Event], offset_ns: int) -> None:
        """Write what an engine reports; `offset_ns` is added to its instants to count them from the run's arrival."""
        for event in events:
            self._take(engine, event, offset_ns)

    def asking(self) -> None:
        """An engine is asked; who it is comes with its first line."""
        self._engine = None

    def lost(self) -> None:
        """The engine that was asked is gone. If nothing was missing but the run's last line, it is written."""
        self._continues, self._lost = True, self._engine
        reason = self._finish_reason()
        if reason is not None:
            self.log.append(End(len(self.log), reason, self._passes[-1].end_ns))

    def ended(self, reason: FinishReason, at_ns: int) -> None:
        """The front itself ends it."""
        self.log.append(End(len(self.log), reason, at_ns - self._arrival_ns))

    def failed(self, code: str, message: str, at_ns: int) -> None:
        """No engine can finish it."""
        self.log.append(Error(len(self.log), code, message, at_ns - self._arrival_ns))

    def row(self) -> BatchRow | None:
        """How far it is, for the batch table, as far as the front has heard; None before an engine has taken it."""
        header, queued = self._header, self._queued
        if header is None:
            return None
        row = BatchRow(
            "decode" if self.emitted else "prefill", len(header.prompt_tokens), len(self.emitted),
            header.sampling.max_new_tokens, self._passes[-1].positions_held if self._passes else 0,
            ticket=header.ticket or 0,
        )  # fmt: skip
        if self._passes or queued is None:
            return row
        return replace(
            row, phase=None, waiting_for=f"{queued.ahead} before it", place=queued.place,
            expected_wait_ns=queued.expected_wait_ns, estimated_from=queued.estimated_from,
        )  # fmt: skip

    def _take(self, engine: str, event: Event, offset_ns: int) -> None:
        index = len(self.log)
        if isinstance(event, Header):
            self._went_to(engine, event, offset_ns)
        elif isinstance(event, Pass):
            self._passed(event, offset_ns)
        elif isinstance(event, Transferred):
            start_ns = self._passes[-1].end_ns
            self.log.append(replace(event, index=index, start_ns=start_ns, at_ns=event.at_ns + offset_ns))
        elif not isinstance(event, End) or not self._moves_on(event):
            at_ns = None if event.at_ns is None else event.at_ns + offset_ns
            moved = replace(event, index=index, at_ns=at_ns)
            if isinstance(moved, Queued):
                self._queued = moved
            self.log.append(moved)

    def _passed(self, event: Pass, offset_ns: int) -> None:
        moved = replace(
            event, index=len(self.log), number=len(self._passes),
            start_ns=event.start_ns + offset_ns, end_ns=event.end_ns + offset_ns,
        )  # fmt: skip
        self._passes.append(moved)
        self.emitted += [emission.token.id for emission in event.emitted]
        self.log.append(moved)

    def _went_to(self, engine: str, header: Header, offset_ns: int) -> None:
        assert header.ticket is not None
        if self._header is None:
            ticket = self._tickets.of(engine, header.ticket)
            self._header = replace(header, index=0, run_id=self.log.run_id, ticket=ticket, engine=engine)
            self.log.append(self._header)
        else:
            self._tickets.same(engine, header.ticket, self._header.ticket or 0)
            if self._continues:
                self.log.append(Continued(len(self.log), offset_ns, len(self.emitted), engine, self._lost))
        self._engine, self._continues = engine, False

    def _moves_on(self, end: End) -> bool:
        """An engine that hands a run over ends its own share by length, before the run's own."""
        assert self._header is not None
        return end.reason == "length" and len(self.emitted) < self._header.sampling.max_new_tokens

    def _finish_reason(self) -> FinishReason | None:
        """Whether the tokens that are known end the run."""
        if self._header is None or not self.emitted:
            return None
        sampling = self._header.sampling
        if self.emitted[-1] in self._eos_ids and not sampling.ignore_eos:
            return "stop"
        return "length" if len(self.emitted) >= sampling.max_new_tokens else None
