"""One engine's share of a request that several engines serve.

A request may come with tokens that another engine has given already, with the memory of all but the newest of them, or
with the wish that this engine computes the prompt alone and hands its memory on. Alone, an engine does the whole way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from engine.memory.handover import Exported


class Arrived(NamedTuple):
    """Memory that came from another engine."""

    exported: Exported
    sender: str
    receiver: str
    fetch_ns: int


@dataclass(frozen=True)
class Leg:
    """What was done before, and how far this engine should go."""

    emitted: tuple[int, ...] = ()
    """New tokens that are known. Draws are keyed by position, so the next one is what it would have been anyway."""
    arrived: Arrived | None = None
    """Their memory and the prompt's, all but the newest token's; None: it is computed here, as after a preemption."""
    hand_over: Callable[[Exported], None] | None = None
    """Stop after the next token and give the memory to this, on the thread that steps; the run then ends by length."""


WHOLE = Leg()
