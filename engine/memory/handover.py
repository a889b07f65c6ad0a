"""A sequence's memory on its way from one engine's pools to another's.

Where prefill and decode run on different engines, what the prompt left behind has to move: the KV cache of its
positions, and of the DeltaNet layers the recurrent state and the convolution windows (Zhong et al., "DistServe", arXiv
2401.09670; Patel et al., "Splitwise", arXiv 2311.18677). Exactly the held positions travel, not the room left in the
last page, so the bytes are those that the cost formulas name.

The arrays are raw bytes of the pools, so nothing is rounded on the way: the receiver goes on as the sender would have.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from engine.memory.errors import BrokenHandover, OutOfMemory
from engine.memory.memory import Holding, Memory
from engine.memory.pages import PAGE_SIZE

Bytes = NDArray[np.uint8]


class Exported(NamedTuple):
    """What one sequence holds, as bytes; the last axis of each array is the tensor's own times the bytes of a number.

    `keys`, `values` [full layers, kv heads, length, head_dim]; `states` [linear layers, value heads, V, K]; `windows`
    [linear layers, kernel - 1, channels].
    """

    length: int
    """Positions held."""
    keys: Bytes
    values: Bytes
    states: Bytes
    windows: Bytes
    checksum: int
    """CRC-32 of the four, one after the other."""

    @property
    def kv_bytes(self) -> int:
        """Bytes of keys and values."""
        return self.keys.nbytes + self.values.nbytes

    @property
    def state_bytes(self) -> int:
        """Bytes of the recurrent states."""
        return self.states.nbytes

    @property
    def window_bytes(self) -> int:
        """Bytes of the convolution windows."""
        return self.windows.nbytes


def export_sequence(memory: Memory, holding: Holding) -> Exported:
    """Copy out all that a sequence holds. Between passes: the state must be that of `holding.length` positions."""
    pages, slots = memory.pages, memory.slots
    keys, values = (_bytes(_positions(pool, holding)) for pool in (pages.keys, pages.values))
    states, windows = (_bytes(pool[:, holding.slot].clone()) for pool in (slots.states, slots.windows))
    return Exported(holding.length, keys, values, states, windows, _checksum(keys, values, states, windows))


def import_sequence(memory: Memory, exported: Exported) -> Holding:
    """Take pages and a slot of our own and fill them; raises OutOfMemory and changes nothing.

    Look with `check_exported` first: what does not fit these pools must not come here.
    """
    holding = memory.open()
    try:
        memory.extend(holding, exported.length)
    except OutOfMemory:
        memory.close(holding)
        raise
    for pool, arrived in ((memory.pages.keys, exported.keys), (memory.pages.values, exported.values)):
        rows = _numbers(arrived, pool)
        for place, page in enumerate(holding.pages):
            part = rows[:, :, place * PAGE_SIZE : (place + 1) * PAGE_SIZE]
            pool[:, :, page, : part.shape[2]] = part
    memory.slots.states[:, holding.slot] = _numbers(exported.states, memory.slots.states)
    memory.slots.windows[:, holding.slot] = _numbers(exported.windows, memory.slots.windows)
    return holding


def check_exported(memory: Memory, exported: Exported) -> None:
    """Raise BrokenHandover unless the bytes are those that were sent, of a model with the same shape as ours."""
    for name, wanted in _shapes(memory, exported.length):
        found = getattr(exported, name).shape
        if found != wanted:
            raise BrokenHandover(f"{name} came as {list(found)} bytes; this model's are {list(wanted)}.")
    if _checksum(*exported[1:5]) != exported.checksum:
        raise BrokenHandover("The bytes that came are not those that were sent: their checksums differ.")


def _shapes(memory: Memory, length: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    for name, pool in (("keys", memory.pages.keys), ("values", memory.pages.values)):
        n_layers, n_heads, *_, width = pool.shape
        yield name, (n_layers, n_heads, length, width * pool.element_size())
    for name, pool in (("states", memory.slots.states), ("windows", memory.slots.windows)):
        n_layers, _, *rest, width = pool.shape
        yield name, (n_layers, *rest, width * pool.element_size())


def _positions(pool: Tensor, holding: Holding) -> Tensor:
    """[layers, heads, length, head_dim] of a pool of pages, copied."""
    gathered = pool.index_select(2, torch.tensor(holding.pages, dtype=torch.int64, device=pool.device))
    return gathered.flatten(2, 3)[:, :, : holding.length]


def _bytes(numbers: Tensor) -> Bytes:
    raw: Bytes = numbers.cpu().contiguous().view(torch.uint8).numpy()
    return raw


def _numbers(arrived: Bytes, pool: Tensor) -> Tensor:
    """The bytes as the pool's numbers, where the pool is. What comes out of an object store may not be written to."""
    held = torch.empty(arrived.shape, dtype=torch.uint8)
    held.numpy()[...] = arrived
    return held.view(pool.dtype).to(pool.device)


def _checksum(*arrays: Bytes) -> int:
    checksum = 0
    for array in arrays:
        checksum = zlib.crc32(np.ascontiguousarray(array).reshape(-1).data, checksum)
    return checksum
