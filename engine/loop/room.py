"""What the scheduler needs of memory: room for a sequence and for its next tokens, counted, not computed with.

The real runner keeps it in tensors (`engine.loop.runner`), the simulator counts. Whoever plans takes the room at once,
so that two parts of one step never count on the same page.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from engine.loop.sequence import Sequence


class Usage(NamedTuple):
    """Memory in use: what sequences and prefix checkpoints own, and what there is."""

    pages_used: int
    pages_total: int
    slots_used: int
    slots_total: int


class Room(Protocol):
    """Memory for sequences, as the scheduler sees it."""

    def enter(self, sequence: Sequence) -> bool:
        """Give a sequence a place of its own; False if there is none now.

        A sequence that may reuse a prefix begins with what a checkpoint holds: its `n_held` says how much.
        """

    def reserve(self, sequence: Sequence, n_tokens: int) -> bool:
        """Take room for the next `n_tokens` tokens; False if there is too little, and nothing changes."""

    def leave(self, sequence: Sequence) -> None:
        """Free what a sequence has; one that never entered has nothing."""

    def usage(self) -> Usage:
        """What is in use."""


class Plenty:
    """Room without end, for where memory is not the question."""

    def enter(self, sequence: Sequence) -> bool:
        """Always."""
        return True

    def reserve(self, sequence: Sequence, n_tokens: int) -> bool:
        """Always."""
        return True

    def leave(self, sequence: Sequence) -> None:
        """Nothing to free."""

    def usage(self) -> Usage:
        """Nothing is counted."""
        return Usage(0, 0, 0, 0)
