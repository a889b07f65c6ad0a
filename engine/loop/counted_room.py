"""Memory that is only counted: pages and slots as numbers, for a machine that is not here.

The rules are those of the real room (`engine.loop.runner`): a sequence enters when a slot is free and its known tokens
would find pages, takes pages as it grows, and gives all of them back when it leaves.
"""

from __future__ import annotations

from engine.account.cost import Rates
from engine.account.record import ModelShape
from engine.loop.room import Usage
from engine.loop.sequence import Sequence

PAGE_SIZE = 16
"""Positions a page; equal to that of `engine.memory.pages`, which needs torch."""


class DoesNotFit(ValueError):
    """The memory is too small for this model; the message says what is missing."""


def pages_for(positions: int) -> int:
    """How many pages hold that many positions."""
    return -(-positions // PAGE_SIZE)


class CountedRoom:
    """See `engine.loop.room.Room`. And sequences can move from one such room to another (`hand_over`, `expect`)."""

    def __init__(self, n_pages: int, n_slots: int, *, uses_pages: bool = True) -> None:
        self.n_pages = n_pages
        self.n_slots = n_slots
        self._uses_pages = uses_pages
        """False for a model without a KV cache."""
        self.whole_prompts = False
        """Whether a sequence takes the pages of all its known tokens when it enters. Where memory stays taken after a
        sequence has finished (`hand_over`), nobody could be sure otherwise that the rest of a prompt still fits.
        """
        self._owned: dict[Sequence, int] = {}
        self._leaving: dict[Sequence, int] = {}
        self._pages_used = 0

    @classmethod
    def for_budget(cls, shape: ModelShape, n_bytes: int, n_slots: int) -> CountedRoom:
        """What `n_bytes` hold beside the weights: a state slot for each of `n_slots` sequences, KV pages in the rest.

        Raises `DoesNotFit` if the weights, the slots and one page do not fit.
        """
        rates = Rates.of(shape)
        page = PAGE_SIZE * rates.kv_per_position
        slots = n_slots * (rates.state + rates.window)
        left = n_bytes - shape.weight_bytes - slots
        if left < page:
            raise DoesNotFit(
                f"{shape.name} does not fit: its weights take {shape.weight_bytes / 1e9:,.2f} GB and {n_slots} state "
                f"slots {slots / 1e9:,.2f} GB, of {n_bytes / 1e9:,.2f} GB. Take more memory, fewer bits a weight or "
                "fewer sequences at once."
            )
        return cls(left // page if page else 0, n_slots, uses_pages=page > 0)

    def holds(self, positions: int) -> bool:
        """Whether one sequence of that length fits if nobody else is there."""
        return self._pages(positions) <= self.n_pages

    def enter(self, sequence: Sequence) -> bool:
        """See `Room`. Whoever is expected finds its memory taken."""
        if sequence in self._owned:
            return True
        pages = self._pages(len(sequence.tokens))
        if self._slots_free < 1 or pages > self._pages_free:
            return False
        self._owned[sequence] = pages if self.whole_prompts else 0
        self._pages_used += self._owned[sequence]
        return True

    def expect(self, sequence: Sequence) -> bool:
        """Take a slot and the pages of its whole length for a sequence that is on its way from another machine; False
        if there is too little. So whoever is let in is carried to the end and never preempted.
        """
        pages = self._pages(sequence.n_prompt + sequence.max_new_tokens - 1)
        if self._slots_free < 1 or pages > self._pages_free:
            return False
        self._owned[sequence] = pages
        self._pages_used += pages
        return True

    def reserve(self, sequence: Sequence, n_tokens: int) -> bool:
        """See `Room`."""
        more = self._pages(sequence.n_held + n_tokens) - self._owned[sequence]
        if more > self._pages_free:
            return False
        if more > 0:
            self._owned[sequence] += more
            self._pages_used += more
        return True

    def clear(self, sequence: Sequence) -> None:
        """Give the pages back and stay: nothing of the pass is kept."""
        self._pages_used -= self._owned[sequence]
        self._owned[sequence] = 0

    def leave(self, sequence: Sequence) -> None:
        """See `Room`."""
        self._pages_used -= self._owned.pop(sequence, 0)

    def hand_over(self, sequence: Sequence) -> None:
        """The sequence is finished here but its memory is still read: keep it until `handed_over`."""
        self._leaving[sequence] = self._owned.pop(sequence)

    def handed_over(self, sequence: Sequence) -> None:
        """The memory has arrived elsewhere and is free here."""
        self._pages_used -= self._leaving.pop(sequence)

    def usage(self) -> Usage:
        """See `Room`."""
        return Usage(self._pages_used, self.n_pages, self.n_slots - self._slots_free, self.n_slots)

    @property
    def _pages_free(self) -> int:
        return self.n_pages - self._pages_used

    @property
    def _slots_free(self) -> int:
        return self.n_slots - len(self._owned) - len(self._leaving)

    def _pages(self, positions: int) -> int:
        return pages_for(positions) if self._uses_pages else 0
