"""Passes with every number chosen, and runs put together from events, for tests that need no engine."""

from __future__ import annotations

import msgspec

from engine.account.record import Run
from tests.engine.builders import emission, one_pass


def numbered(events) -> Run:
    """The events with indices in order, and passes with numbers in order."""
    passes = 0
    placed = []
    for index, event in enumerate(events):
        placed.append(msgspec.structs.replace(event, index=index))
        if hasattr(event, "number"):
            placed[-1] = msgspec.structs.replace(placed[-1], number=passes)
            passes += 1
    return Run(placed)


def step(start_position, n_in, start_ns, end_ns, *, phase="prefill", emits=0, shared_by=1, drafted=0, accepted=0):
    bare = one_pass(0, 0, start_ns, end_ns, n_in=n_in, emits=False)
    emitted = [emission(65 + i, start_position + n_in + i) for i in range(emits)]
    return msgspec.structs.replace(
        bare, start_position=start_position, phase=phase, emitted=emitted, shared_by=shared_by,
        drafted=drafted, accepted=accepted,
    )  # fmt: skip


def decode(position, start_ns, end_ns, **others):
    return step(position, 1, start_ns, end_ns, phase="decode", **{"emits": 1, **others})
