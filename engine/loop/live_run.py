"""A request between its arrival and its end."""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.account.record import FinishReason
from engine.loop.leg import Arrived
from engine.loop.queueing import Place
from engine.loop.recorder import Recorder
from engine.loop.request import Request
from engine.loop.sequence import Sequence

if TYPE_CHECKING:
    from engine.memory.handover import Exported


@dataclass(eq=False)
class LiveRun:
    """What was asked, the tokens so far, and the pen that writes its record."""

    request: Request
    sequence: Sequence
    recorder: Recorder
    place: Place | None = None
    """What it was told last of its place in the queue."""
    joined_ns: int | None = None
    """When it joined the batch; None if it did not, or had to leave it again meanwhile."""
    arrived: Arrived | None = None
    """What came from another engine, until the record says so."""
    hand_over: Callable[[Exported], None] | None = None
    """Who takes its memory when this engine's share is done."""

    def goes_on_elsewhere(self, reason: FinishReason) -> bool:
        """Whether it stops here only because another engine is to go on."""
        wanted = self.request.sampling.max_new_tokens
        return self.hand_over is not None and reason == "length" and self.sequence.n_new < wanted

    def moved(self, place: Place, at_ns: int) -> None:
        """Write down a place in the queue, if it is another than before."""
        before, self.place = self.place, place
        if before is None or (before.ahead, before.reserved_until) != (place.ahead, place.reserved_until):
            self.recorder.queued(at_ns, place)

    def finish_reason(self, token_id: int, n_new: int, eos_ids: Set[int]) -> FinishReason | None:
        """Whether the run is over when its `n_new`-th new token is `token_id`."""
        if token_id in eos_ids and not self.request.sampling.ignore_eos:
            return "stop"
        return "length" if n_new >= self.sequence.max_new_tokens else None
