"""Driving a model pass by pass, as the runner does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import torch
from torch import Tensor

from engine.account.record import Phase
from engine.memory.memory import Holding, Memory
from engine.model.batch import Span
from engine.model.model import Model


class Walk:
    """One sequence of a model: `feed` it tokens and get logits."""

    def __init__(self, model: Model, memory: Memory) -> None:
        self.model, self.memory = model, memory
        self.holding: Holding = memory.open()

    def span(self, token_ids: Sequence[int], phase: Phase, logits: Literal["none", "last", "all"] = "all") -> Span:
        """These tokens next, with room taken for them."""
        start = self.memory.extend(self.holding, len(token_ids))
        return Span(list(token_ids), start, phase, self.holding, logits)

    def feed(
        self, token_ids: Sequence[int], phase: Phase = "prefill", logits: Literal["last", "all"] = "all"
    ) -> Tensor:
        """Run them in one pass of their own; logits [n, vocab]."""
        return self.model.forward([self.span(token_ids, phase, logits)], self.memory)

    def feed_in(self, chunks: Iterable[Sequence[int]]) -> Tensor:
        """Run them in one pass a chunk; the logits of all."""
        return torch.cat([self.feed(chunk) for chunk in chunks])

    def greedy(self, token_ids: Sequence[int], n_new: int) -> list[int]:
        """One prefill and then a decode pass a token; the new tokens."""
        logits, new = self.feed(token_ids, logits="last"), []
        for _ in range(n_new):
            new.append(int(logits[-1].argmax()))
            logits = self.feed([new[-1]], "decode", "last")
        return new

    def kept(self) -> dict[str, Tensor]:
        """All that the sequence keeps: recurrent states, windows, and the keys and values of the positions it holds."""
        pages, slots, length = self.memory.pages, self.memory.slots, self.holding.length
        keys, values = (
            pool[:, :, self.holding.pages].flatten(2, 3)[:, :, :length] for pool in (pages.keys, pages.values)
        )
        slot = self.holding.slot
        return {"states": slots.states[:, slot], "windows": slots.windows[:, slot], "keys": keys, "values": values}

    def close(self) -> None:
        """Give everything back."""
        self.memory.close(self.holding)


def split(token_ids: Sequence[int], sizes: Sequence[int]) -> list[Sequence[int]]:
    """Cut into pieces of these sizes, over and over, until nothing is left."""
    pieces, first, i = [], 0, 0
    while first < len(token_ids):
        size = sizes[i % len(sizes)]
        pieces.append(token_ids[first : first + size])
        first, i = first + size, i + 1
    return pieces
