"""What a drafted pass leaves undone: the writes of every DeltaNet layer, kept until it is known which of them count.

A recurrent state cannot be cut back, so a drafted pass does not write it at all: outputs come from the state and the
tokens' own keys, writes and decays, and `fold` then applies those of the accepted tokens. A rejected one never
happened.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from engine.model.batch import Batch
from kernels.dispatch import table as ops

Entry = tuple[Any, Tensor, Tensor]
"""A layer's: the second result of `drafted_gated_delta_net`, its windows and its states."""


class Journal:
    """One drafted pass, layer by layer. Handed through the model; each DeltaNet layer adds its entry."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._batch: Batch | None = None

    def add(self, batch: Batch, *entries: Entry) -> None:
        """Note what layers did not write: each its own, or all of a pass that was replayed, whose tensors hold new
        numbers.
        """
        self._entries.extend(entries)
        self._batch = batch

    @property
    def entries(self) -> tuple[Entry, ...]:
        """What was added."""
        return tuple(self._entries)

    @torch.inference_mode()
    def fold(self, kept_rows: Sequence[int]) -> None:
        """Apply the first `kept_rows[b]` rows of each drafted sequence; -1 for one that was not drafted."""
        if self._batch is None:
            return
        accepted = torch.tensor(kept_rows, dtype=torch.int64, device=self._batch.bounds_index.device)
        for entry, windows, states in self._entries:
            ops.fold_drafts(entry, windows, states, self._batch.bounds_index, self._batch.state_slots, accepted)
        self._entries.clear()
