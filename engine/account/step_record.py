"""The step row: what one step of the engine did, for everybody at once; never whose text it was.

A run's record tells one request's side. This is the other side, one row a step: who took part and with how much, what
memory was in use, and why whoever waited had to. Tickets stand for requests, since a run id opens a prompt.
"""

from __future__ import annotations

import msgspec

from engine.account.record import Phase


class Share(msgspec.Struct, frozen=True, gc=False):
    """One request's part in a step."""

    ticket: int
    phase: Phase
    n_tokens: int
    """Tokens that went in, drafts included."""
    drafted: int = 0
    emitted: int = 0


class Wait(msgspec.Struct, frozen=True, gc=False):
    """A request that took no part, and why, in words."""

    ticket: int
    reason: str


class StepRow(msgspec.Struct, frozen=True, gc=False):
    """One step. Times are nanoseconds on the engine's clock since it was loaded."""

    number: int
    start_ns: int
    end_ns: int
    planning_ns: int
    """What the scheduler took, before `start_ns`."""
    shares: list[Share]
    waiting: list[Wait]
    """Who took no part; of a long queue the first ones."""
    pages_used: int
    pages_total: int
    slots_used: int
    """State slots that sequences or prefix checkpoints own."""
    slots_total: int
    n_queued: int = 0
    """How many stood in the queue."""
    preempted: list[int] = []
    """Tickets of those who gave their memory up before this step."""
    engine: str | None = None
    """Of several engines the one whose step it was; None where there is one."""
