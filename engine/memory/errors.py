"""What the memory says when it cannot serve."""

from __future__ import annotations


class OutOfMemory(RuntimeError):
    """No room for what was asked; nothing was changed."""

    def __init__(self, what: str, *, wanted: int, free: int, total: int) -> None:
        self.wanted, self.free, self.total = wanted, free, total
        super().__init__(f"{wanted} {what} wanted, {free} of {total} free")


class IntegrityError(AssertionError):
    """A page or a slot has no owner, or two; the message says which."""


class BrokenHandover(ValueError):
    """A sequence's memory that came from another engine cannot be taken over; the message says why."""
