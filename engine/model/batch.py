"""One pass of the model, written out: which tokens of which sequences go in, and where everything of theirs lies.

Tokens of all sequences are packed one after another, without padding. The layers read whatever they need from here;
there is no other channel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from engine.account.record import Phase
from engine.memory.memory import Holding
from engine.memory.pages import PAGE_SIZE


class Span(NamedTuple):
    """One sequence's part of a pass: consecutive tokens from `start_position` on.

    `holding` must already have room for them (`start = memory.extend(holding, len(token_ids))`). `logits` says for
    which rows the odds of the next token are asked: none (a chunk of a prompt that is not its last), the last, or
    all.
    """

    token_ids: Sequence[int]
    start_position: int
    phase: Phase
    holding: Holding
    logits: Literal["none", "last", "all"] = "last"
    drafted: bool = False
    """Whether some of the tokens are guesses: then the pass leaves the recurrent state alone (engine.model.journal)."""

    @property
    def context_length(self) -> int:
        """Positions that the sequence holds after this pass."""
        return self.start_position + len(self.token_ids)


class Shape(NamedTuple):
    """What two passes must have in common to be made of the same calls: who has how many tokens, whose odds are asked
    for, who has drafts.
    """

    bounds: tuple[int, ...]
    """B + 1 row numbers, from 0 to T."""
    logit_rows: tuple[int, ...]
    drafted: tuple[bool, ...] | None = None
    """[B]; None if nobody has drafts."""

    @classmethod
    def of(cls, spans: Sequence[Span]) -> Shape:
        """The shape of a pass over these spans, packed in the order given."""
        bounds, rows = [0], list[int]()
        for span in spans:
            bounds.append(bounds[-1] + len(span.token_ids))
            if span.logits == "last":
                rows.append(bounds[-1] - 1)
            elif span.logits == "all":
                rows.extend(range(bounds[-2], bounds[-1]))
        drafted = tuple(span.drafted for span in spans)
        return cls(tuple(bounds), tuple(rows), drafted if any(drafted) else None)

    @property
    def n_tokens(self) -> int:
        """T"""
        return self.bounds[-1]

    @property
    def n_sequences(self) -> int:
        """B"""
        return len(self.bounds) - 1


@dataclass(eq=False)
class Batch:
    """A pass over T tokens of B sequences. Sequence b has the rows `bounds[b]:bounds[b + 1]`."""

    shape: Shape
    token_ids: Tensor
    """[T] int64"""
    positions: Tensor
    """[T] int64"""
    kv_rows: Tensor
    """[T] int64: where each token's key and value go, as page * PAGE_SIZE + offset."""
    bounds_index: Tensor
    """[B + 1] int64: the bounds, for kernels."""
    page_tables: Tensor
    """[B, most pages] int32; a shorter table is filled up with -1."""
    state_slots: Tensor
    """[B] int64"""
    logit_rows: Tensor
    """[n] int64: the rows whose logits are asked for, ascending."""
    drafted: Tensor | None = None
    """[B] int64, 1 for a sequence with drafts; None if there is none."""
    context_lengths: tuple[int, ...] = ()
    """[B] positions held after this pass."""
    phases: tuple[Phase, ...] = ()
    """[B] A label for the record; no layer computes differently for it."""
    _tables: list[list[int]] = field(default_factory=list)
    """The page tables as they were written last."""

    @classmethod
    def of(cls, spans: Sequence[Span]) -> Batch:
        """Pack the spans in the order given; raises ValueError for a span that is empty, roomless or not alone."""
        batch = cls.empty(Shape.of(spans), max(len(span.holding.pages) for span in spans))
        batch.take(spans)
        return batch

    @classmethod
    def empty(cls, shape: Shape, table_width: int) -> Batch:
        """Room for a pass of that shape with so many pages a sequence, on the CPU."""
        n_tokens, n_sequences = shape.n_tokens, shape.n_sequences
        # One array, cut up: making a tensor costs microseconds, of which a step has few.
        lengths = (n_tokens, n_tokens, n_tokens, n_sequences + 1, n_sequences, len(shape.logit_rows))
        parts = torch.from_numpy(np.zeros(sum(lengths), dtype=np.int64)).split(lengths)
        token_ids, positions, kv_rows, bounds_index, state_slots, logit_rows = parts
        bounds_index.numpy()[:], logit_rows.numpy()[:] = shape.bounds, shape.logit_rows
        page_tables = torch.from_numpy(np.full((n_sequences, table_width), -1, dtype=np.int32))
        drafted = None if shape.drafted is None else torch.tensor(shape.drafted).long()
        return cls(shape, token_ids, positions, kv_rows, bounds_index, page_tables, state_slots, logit_rows, drafted)

    def take(self, spans: Sequence[Span]) -> None:
        """Write these spans, which have the batch's shape, into its tensors; raises ValueError as `of` does.

        A page table that has not changed stays as it stands: from one decode step to the next most do not.
        """
        if len({span.holding.slot for span in spans}) < len(spans):
            raise ValueError(
                "a sequence is twice in the batch: its second span would not see what the first one writes"
            )
        token_ids, positions, kv_rows = self.token_ids.numpy(), self.positions.numpy(), self.kv_rows.numpy()
        for span, first, end in zip(spans, self.shape.bounds, self.shape.bounds[1:], strict=False):
            _check(span)
            token_ids[first:end] = span.token_ids
            positions[first:end], kv_rows[first:end] = _places(span)
        self.state_slots.numpy()[:] = [span.holding.slot for span in spans]
        self._take_tables([span.holding.pages for span in spans])
        self.context_lengths = tuple(span.context_length for span in spans)
        self.phases = tuple(span.phase for span in spans)

    def _take_tables(self, tables: list[list[int]]) -> None:
        known, rows = self._tables or [[] for _ in tables], self.page_tables.numpy()
        for b, (table, before) in enumerate(zip(tables, known, strict=True)):
            if table != before:
                rows[b, : len(table)], rows[b, len(table) :] = table, -1
                known[b] = table.copy()
        self._tables = known

    def on(self, device: torch.device) -> Batch:
        """The batch with its numbers on the device: itself where they are there already."""
        if self.token_ids.device == device:
            return self
        return replace(self, **{name: tensor.to(device, non_blocking=True) for name, tensor in self.tensors().items()})

    def tensors(self) -> dict[str, Any]:
        """The tensors by name: all that is on the device."""
        own = {one.name: getattr(self, one.name) for one in fields(self)}
        return {name: value for name, value in own.items() if isinstance(value, Tensor)}


def _check(span: Span) -> None:
    if not span.token_ids:
        raise ValueError("a span needs at least one token")
    if span.context_length > min(len(span.holding.pages) * PAGE_SIZE, span.holding.length):
        raise ValueError(f"no room was taken for position {span.context_length - 1}: extend the holding first")


def _places(span: Span) -> tuple[Any, Any]:
    """The span's positions, and the rows of the pages where its keys and values go."""
    start, pages = span.start_position, span.holding.pages
    if len(span.token_ids) == 1:  # without arrays, of which each costs more than these numbers
        return start, pages[start // PAGE_SIZE] * PAGE_SIZE + start % PAGE_SIZE
    at, first = np.arange(start, span.context_length), start // PAGE_SIZE
    return at, np.array(pages[first:])[at // PAGE_SIZE - first] * PAGE_SIZE + at % PAGE_SIZE
