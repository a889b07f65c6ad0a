"""Pages and slots: taken, freed, reused, and every one of them owned exactly once."""

from __future__ import annotations

import pytest
import torch
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from torch.utils._python_dispatch import TorchDispatchMode

from engine.memory.errors import IntegrityError, OutOfMemory
from engine.memory.memory import Holding, Memory
from engine.memory.pages import PAGE_SIZE, KVPages, pages_for
from engine.memory.slots import StateSlots


def small_memory(n_pages: int = 6, n_slots: int = 3) -> Memory:
    pages = KVPages(n_layers=2, n_kv_heads=2, head_dim=4, n_pages=n_pages, dtype=torch.bfloat16)
    slots = StateSlots(n_layers=3, n_slots=n_slots, n_heads=2, value_dim=4, key_dim=8, channels=24, kernel=4)
    return Memory(pages, slots)


def test_a_sequence_grows_page_by_page_and_gives_all_back():
    memory = small_memory()
    holding = memory.open()
    assert memory.extend(holding, 1) == 0
    assert len(holding.pages) == 1
    assert memory.extend(holding, PAGE_SIZE) == 1
    assert len(holding.pages) == 2
    assert memory.extend(holding, PAGE_SIZE - 1) == PAGE_SIZE + 1
    assert len(holding.pages) == 2
    assert holding.length == 2 * PAGE_SIZE
    memory.check_integrity()
    memory.close(holding)
    assert (memory.pages.n_free, memory.slots.n_free) == (6, 3)
    assert list(memory.holdings) == []
    memory.check_integrity()


def test_what_does_not_fit_changes_nothing():
    memory = small_memory(n_pages=2)
    holding = memory.open()
    memory.extend(holding, 10)
    with pytest.raises(OutOfMemory, match="2 KV pages wanted, 1 of 2 free"):
        memory.extend(holding, 30)
    assert (holding.length, len(holding.pages), memory.pages.n_free) == (10, 1, 1)
    memory.check_integrity()
    memory.extend(holding, 22)


def test_slots_run_out_too():
    memory = small_memory(n_slots=1)
    first = memory.open()
    with pytest.raises(OutOfMemory, match="state slots"):
        memory.open()
    memory.close(first)
    memory.open()
    memory.check_integrity()


def test_a_fresh_slot_is_zero_whatever_was_in_it():
    memory = small_memory(n_slots=1)
    memory.poison_free()
    slot = memory.open().slot
    assert memory.slots.states[:, slot].eq(0).all()
    assert memory.slots.windows[:, slot].eq(0).all()


def test_what_a_newcomer_is_given_is_written_without_torchs_threads():
    """Zeroing a slot woke them; they spun while the step computed, and the first step of every newcomer, in which all
    others waited for their next token, took twice the time of the second.
    """
    memory = small_memory()
    holding = memory.open()
    memory.extend(holding, 5)
    with _Written() as written:
        memory.open()
        memory.extend(memory.fork(holding), 1)
    assert not written.calls


class _Written(TorchDispatchMode):
    """The calls of torch that write into a tensor."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[str] = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        if function._schema.is_mutable:
            self.calls.append(str(function))
        return function(*args, **(kwargs or {}))


def test_poison_reaches_all_free_memory_and_nothing_else():
    memory = small_memory()
    holding = memory.open()
    memory.extend(holding, 5)
    memory.pages.keys[:, :, holding.pages] = 1
    memory.poison_free()
    assert memory.slots.states[:, holding.slot].eq(0).all()
    assert memory.pages.keys[:, :, holding.pages].eq(1).all()
    others = [page for page in range(6) if page not in holding.pages]
    assert memory.pages.keys[:, :, others].isnan().all()
    assert memory.pages.values[:, :, others].isnan().all()


def test_bytes_are_counted_from_the_tensors():
    memory = small_memory()
    assert memory.pages.bytes_per_position == 2 * 2 * 2 * 4 * 2  # layers, keys and values, heads, head_dim, bf16
    assert memory.slots.state_bytes == 3 * 2 * 4 * 8 * 4
    assert memory.slots.window_bytes == 3 * 3 * 24 * 4
    holding = memory.open()
    memory.extend(holding, 17)
    assert memory.kv_bytes_held(holding) == 17 * 64


@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [
        (lambda memory, holding: holding.pages.append(holding.pages[0]), "page"),
        (lambda memory, holding: holding.pages.pop(), "page"),
        (lambda memory, holding: setattr(holding, "slot", 2), "slot"),
        (lambda memory, holding: setattr(holding, "length", 99), "99 positions"),
        (lambda memory, holding: memory.slots.free(holding.slot), "slot"),
    ],
)
def test_an_owner_too_many_or_too_few_is_found(spoil, complaint: str):
    memory = small_memory()
    holding = memory.open()
    memory.extend(holding, 20)
    memory.check_integrity()
    spoil(memory, holding)
    with pytest.raises(IntegrityError, match=complaint):
        memory.check_integrity()


class AnyOrder(RuleBasedStateMachine):
    """Sequences come, grow and go in any order; pages are never lost, shared or spoilt."""

    @initialize()
    def begin(self) -> None:
        self.memory = small_memory()
        self.open: list[Holding] = []

    @rule()
    def come(self) -> None:
        if self.memory.slots.n_free:
            self.open.append(self.memory.open())

    @rule(which=st.integers(0, 9), count=st.integers(1, 40))
    def grow(self, which: int, count: int) -> None:
        if not self.open:
            return
        holding = self.open[which % len(self.open)]
        fits = pages_for(holding.length + count) - len(holding.pages) <= self.memory.pages.n_free
        if fits:
            self.memory.extend(holding, count)
        else:
            with pytest.raises(OutOfMemory):
                self.memory.extend(holding, count)

    @rule(which=st.integers(0, 9))
    def go(self, which: int) -> None:
        if self.open:
            self.memory.close(self.open.pop(which % len(self.open)))

    @invariant()
    def every_page_and_slot_has_one_owner(self) -> None:
        if hasattr(self, "memory"):
            self.memory.check_integrity()
            assert list(self.memory.holdings) == self.open


AnyOrder.TestCase.settings = settings(max_examples=30, stateful_step_count=25, deadline=None)
TestAnyOrder = AnyOrder.TestCase
