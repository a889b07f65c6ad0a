"""A request between its arrival and its end."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

from engine.account.record import FinishReason
from engine.loop.recorder import Recorder
from engine.loop.request import Request
from engine.loop.sequence import Sequence


@dataclass(eq=False)
class LiveRun:
    """What was asked, the tokens so far, and the pen that writes its record."""

    request: Request
    sequence: Sequence
    recorder: Recorder
    ahead: int
    """How many requests are before it."""

    def moved_up(self, ahead: int, at_ns: int) -> None:
        """Write down a new place in the queue, if it is one."""
        if ahead != self.ahead:
            self.ahead = ahead
            self.recorder.queued(at_ns, ahead)

    def finish_reason(self, token_id: int, n_new: int, eos_ids: Set[int]) -> FinishReason | None:
        """Whether the run is over when its `n_new`-th new token is `token_id`."""
        if token_id in eos_ids and not self.request.sampling.ignore_eos:
            return "stop"
        return "length" if n_new >= self.sequence.max_new_tokens else None
