"""Whether a run had the engine to itself: a timing means something else among others than alone."""

from __future__ import annotations

import msgspec

from engine.account.record import Queued, Run


class Company(msgspec.Struct, frozen=True):
    """Who else was there, as far as the run's own record tells."""

    n_passes: int
    n_shared: int
    """Passes that other requests took part in."""
    most: int
    """Most requests in one of its passes, itself included."""
    ahead: int
    """Requests before it when it arrived, running ones included."""
    held: bool
    """Whether it came while the engine was reserved for somebody else."""

    @property
    def alone(self) -> bool:
        """Whether no other request of this engine was before it, kept it waiting or shared a pass with it."""
        return self.n_shared == 0 and self.ahead == 0 and not self.held


def company(run: Run) -> Company | None:
    """The company that a run had; None before its first pass, when nothing has been measured."""
    passes = run.passes
    if not passes:
        return None
    queued = next((event for event in run.events if isinstance(event, Queued)), Queued(0, 0, 0))
    shared = [one.shared_by for one in passes]
    held = queued.reserved_until is not None
    return Company(len(passes), sum(n > 1 for n in shared), max(shared), queued.ahead, held)
