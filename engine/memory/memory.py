"""What every sequence keeps between passes, and who owns which page and slot.

    slot:   free --open, fork--> owned by one Holding --close--> free
    page:   free --extend--> owned by one Holding --fork--> by several --close, truncate--> free when the last has left

A `Holding` is a sequence's side of it: its state slot, its page table, and how many positions it has taken room for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import torch

from engine.memory.errors import IntegrityError
from engine.memory.pages import PAGE_SIZE, KVPages, pages_for
from engine.memory.slots import StateSlots
from engine.memory.untouched import CPU

if TYPE_CHECKING:
    from engine.model.config import ModelConfig


@dataclass(eq=False)
class Holding:
    """What one sequence owns. `length` counts the positions it holds; position p lies in `pages[p // PAGE_SIZE]`."""

    slot: int
    pages: list[int] = field(default_factory=list)
    length: int = 0


class Memory:
    """Both pools, sized together, and the list of owners."""

    def __init__(self, pages: KVPages, slots: StateSlots) -> None:
        self.pages = pages
        self.slots = slots
        self._holdings: list[Holding] = []

    @classmethod
    def for_model(
        cls, config: ModelConfig, *, n_slots: int, n_positions: int, kv_dtype: torch.dtype = torch.bfloat16,
        device: torch.device = CPU,
    ) -> Memory:  # fmt: skip
        """Room for `n_slots` sequences at once that hold `n_positions` positions between them, in whole pages."""
        pages = KVPages(
            len(config.full_layers), config.num_key_value_heads, config.head_dim, pages_for(n_positions), kv_dtype,
            device,
        )  # fmt: skip
        slots = StateSlots(
            len(config.linear_layers), n_slots, config.linear_num_value_heads, config.linear_value_head_dim,
            config.linear_key_head_dim, config.conv_channels, config.linear_conv_kernel_dim, device,
        )  # fmt: skip
        return cls(pages, slots)

    def open(self) -> Holding:
        """Begin a sequence: a zeroed slot, no pages, length 0; raises OutOfMemory."""
        holding = Holding(self.slots.allocate())
        self._holdings.append(holding)
        return holding

    def extend(self, holding: Holding, count: int) -> int:
        """Take room for the next `count` positions and return the first; raises OutOfMemory and changes nothing.

        Call it once before each pass, with the number of tokens that go in.
        """
        start = holding.length
        self.pages.append(holding.pages, start, count)
        holding.length += count
        return start

    def fork(self, holding: Holding) -> Holding:
        """A second holding of the same positions: the pages are shared, the state is a copy; raises OutOfMemory.

        Not in the middle of a pass: the state must be that of `holding.length` positions.
        """
        copy = Holding(self.slots.copy(holding.slot), self.pages.share(holding.pages), holding.length)
        self._holdings.append(copy)
        return copy

    def truncate(self, holding: Holding, length: int) -> None:
        """Give back the room of the positions from `length` on, which a rejected draft was written to.

        The recurrent state must not have seen them.
        """
        kept = pages_for(length)
        surplus = holding.pages[kept:]
        del holding.pages[kept:]
        self.pages.free(surplus)
        holding.length = length

    def clear(self, holding: Holding) -> None:
        """Begin again: no pages, length 0, a zeroed slot."""
        self.truncate(holding, 0)
        self.slots.clear(holding.slot)

    def close(self, holding: Holding) -> None:
        """End a sequence and free what it owned. The holding is of no use afterwards."""
        self._holdings.remove(holding)
        self.pages.free(holding.pages)
        self.slots.free(holding.slot)
        holding.length = 0

    @property
    def holdings(self) -> Iterator[Holding]:
        """Everyone who owns something now."""
        return iter(self._holdings)

    def kv_bytes_held(self, holding: Holding) -> int:
        """Bytes of keys and values of the positions held, not of the room left in the last page."""
        return holding.length * self.pages.bytes_per_position

    def check_integrity(self) -> None:
        """Every slot is free or owned by exactly one holding, every page counts its owners, and owners hold what they
        need.

        Raises IntegrityError. Not meaningful in the middle of a pass.
        """
        owned = Counter(page for h in self._holdings for page in h.pages)
        wrong = [page for page in range(self.pages.n_pages) if self.pages.owners(page) != owned[page]]
        if wrong:
            raise IntegrityError(f"pages {wrong} do not count their owners right")
        _each_once("page", self.pages.n_pages, self.pages.free_pages, list(owned))
        _each_once("slot", self.slots.n_slots, self.slots.free_slots, [h.slot for h in self._holdings])
        for holding in self._holdings:
            if len(holding.pages) != pages_for(holding.length):
                raise IntegrityError(
                    f"slot {holding.slot} holds {holding.length} positions in {len(holding.pages)} pages of {PAGE_SIZE}"
                )

    def poison_free(self) -> None:
        """Fill all free memory with NaN (for tests)."""
        self.pages.poison_free()
        self.slots.poison_free()


def _each_once(kind: str, total: int, free: list[int], owned: list[int]) -> None:
    seen = Counter(free) + Counter(owned)
    for number in range(total):
        if seen[number] != 1:
            raise IntegrityError(f"{kind} {number} is free or owned {seen[number]} times instead of once")
    if len(seen) != total:
        raise IntegrityError(f"{kind}s outside the pool: {sorted(set(seen) - set(range(total)))}")
