"""A sequence's memory moves from one engine's pools to another's and is the same there, byte for byte."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.memory.errors import BrokenHandover, OutOfMemory
from engine.memory.handover import check_exported, export_sequence, import_sequence
from engine.memory.memory import Holding, Memory
from engine.memory.pages import PAGE_SIZE
from tests.engine.memory.test_memory import small_memory


def filled(memory: Memory, holding: Holding, generator: torch.Generator) -> None:
    """Random numbers in everything that the sequence owns, the room left in its last page included."""
    for pool in (memory.pages.keys, memory.pages.values):
        pool[:, :, holding.pages] = torch.randn(pool[:, :, holding.pages].shape, generator=generator).to(pool.dtype)
    for pool in (memory.slots.states, memory.slots.windows):
        pool[:, holding.slot] = torch.randn(pool[:, holding.slot].shape, generator=generator)


def held_rows(memory: Memory, holding: Holding) -> list[torch.Tensor]:
    """Keys and values position by position, read the slow way."""
    places = [(holding.pages[p // PAGE_SIZE], p % PAGE_SIZE) for p in range(holding.length)]
    return [pool[:, :, page, row] for pool in (memory.pages.keys, memory.pages.values) for page, row in places]


@settings(max_examples=50)
@given(length=st.integers(1, 4 * PAGE_SIZE), before=st.integers(0, 2 * PAGE_SIZE), seed=st.integers(0, 2**31))
def test_what_arrives_is_what_was_held_at_any_length_and_in_whatever_pages(length, before, seed):
    generator = torch.Generator().manual_seed(seed)
    sender, receiver = small_memory(n_pages=8), small_memory(n_pages=8)
    for memory in (sender, receiver):
        memory.poison_free()
    in_the_way = receiver.open()
    receiver.extend(in_the_way, before)
    ours = sender.open()
    sender.extend(ours, length)
    filled(sender, ours, generator)

    exported = export_sequence(sender, ours)
    check_exported(receiver, exported)
    theirs = import_sequence(receiver, exported)

    assert theirs.length == length
    for here, there in zip(held_rows(sender, ours), held_rows(receiver, theirs), strict=True):
        assert torch.equal(here, there)
    assert torch.equal(sender.slots.states[:, ours.slot], receiver.slots.states[:, theirs.slot])
    assert torch.equal(sender.slots.windows[:, ours.slot], receiver.slots.windows[:, theirs.slot])
    assert exported.kv_bytes == sender.kv_bytes_held(ours)
    assert (exported.state_bytes, exported.window_bytes) == (sender.slots.state_bytes, sender.slots.window_bytes)
    for memory in (sender, receiver):
        memory.check_integrity()


def exported_of(length: int) -> tuple[Memory, Holding]:
    memory = small_memory(n_pages=8)
    holding = memory.open()
    memory.extend(holding, length)
    filled(memory, holding, torch.Generator().manual_seed(1))
    return memory, holding


def test_a_bit_that_flipped_on_the_way_is_noticed():
    exported = export_sequence(*exported_of(20))
    broken = exported.states.copy()
    broken.reshape(-1)[5] ^= 1
    with pytest.raises(BrokenHandover, match="checksums differ"):
        check_exported(small_memory(), exported._replace(states=broken))


def test_memory_of_another_shape_is_refused_by_name():
    exported = export_sequence(*exported_of(20))
    with pytest.raises(BrokenHandover, match=r"keys came as \[2, 2, 19, 8\] bytes; this model's are \[2, 2, 20, 8\]"):
        check_exported(small_memory(), exported._replace(keys=np.ascontiguousarray(exported.keys[:, :, :19])))


def test_where_there_is_too_little_room_nothing_changes():
    exported = export_sequence(*exported_of(40))
    receiver = small_memory(n_pages=2)
    with pytest.raises(OutOfMemory, match="KV pages"):
        import_sequence(receiver, exported)
    assert (receiver.pages.n_free, receiver.slots.n_free) == (2, 3)
    receiver.check_integrity()
