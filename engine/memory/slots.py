"""The memory of Gated DeltaNet layers: one slot a sequence, the same size from the first token to the last.

A slot holds, for every such layer, the recurrent state of each value head and the convolution window. Both are
rewritten by each token, so a slot that passes to another sequence is zeroed first: an old state is not noise but
another's text.
"""

from __future__ import annotations

import torch
from torch import Tensor

from engine.memory.alone import clear, put
from engine.memory.errors import OutOfMemory
from engine.memory.untouched import CPU, untouched


class StateSlots:
    """The pool.

    `states` is `[linear layers, slots, value heads, V, K]` in float32: V first, so that k is contiguous and reading and
    writing a head's state for one token are products along rows. `windows` is `[linear layers, slots, kernel - 1,
    channels]`: the last inputs of the short convolution, oldest first.
    """

    def __init__(
        self, n_layers: int, n_slots: int, n_heads: int, value_dim: int, key_dim: int, channels: int, kernel: int,
        device: torch.device = CPU,
    ) -> None:  # fmt: skip
        self.n_slots = n_slots
        self.states = untouched((n_layers, n_slots, n_heads, value_dim, key_dim), torch.float32, device)
        # A model without such layers has no kernel, either.
        self.windows = untouched((n_layers, n_slots, max(kernel - 1, 0), channels), torch.float32, device)
        self.layers: list[tuple[Tensor, Tensor]] = list(zip(self.states, self.windows, strict=True))
        self._free = list(range(n_slots - 1, -1, -1))

    @property
    def n_free(self) -> int:
        """Slots that nobody owns."""
        return len(self._free)

    @property
    def free_slots(self) -> list[int]:
        """Numbers of the slots that nobody owns."""
        return list(self._free)

    @property
    def state_bytes(self) -> int:
        """Bytes of one slot's recurrent states over all layers."""
        return self.states[:, 0].nbytes

    @property
    def window_bytes(self) -> int:
        """Bytes of one slot's convolution windows over all layers."""
        return self.windows[:, 0].nbytes

    def allocate(self) -> int:
        """Take a slot, zeroed; raises OutOfMemory."""
        if not self._free:
            raise OutOfMemory("state slots", wanted=1, free=0, total=self.n_slots)
        slot = self._free.pop()
        self.clear(slot)
        return slot

    def copy(self, source: int) -> int:
        """Take a slot that begins as a copy of another; raises OutOfMemory."""
        if not self._free:
            raise OutOfMemory("state slots", wanted=1, free=0, total=self.n_slots)
        slot = self._free.pop()
        for pool in (self.states, self.windows):
            put(pool[:, slot], pool[:, source])
        return slot

    def clear(self, slot: int) -> None:
        """Zero a slot: the state of a sequence that has seen nothing."""
        for pool in (self.states, self.windows):
            clear(pool[:, slot])

    def free(self, slot: int) -> None:
        """Give a slot back."""
        self._free.append(slot)

    def poison_free(self) -> None:
        """Fill every free slot with NaN, so that a read of memory that nobody owns is seen (for tests)."""
        index = torch.tensor(self._free, dtype=torch.int64, device=self.states.device)
        for pool in (self.states, self.windows):
            pool.index_fill_(1, index, float("nan"))
