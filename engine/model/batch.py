"""One pass of the model, written out: which tokens of which sequences go in, and where everything of theirs lies.

Tokens of all sequences are packed one after another, without padding. The layers read whatever they need from here;
there is no other channel.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
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


@dataclass(frozen=True, eq=False)
class Batch:
    """A pass over T tokens of B sequences. Sequence b has the rows `bounds[b]:bounds[b + 1]`."""

    token_ids: Tensor
    """[T] int64"""
    positions: Tensor
    """[T] int64"""
    kv_rows: Tensor
    """[T] int64: where each token's key and value go, as page * PAGE_SIZE + offset."""
    bounds: tuple[int, ...]
    """B + 1 row numbers, from 0 to T."""
    bounds_index: Tensor
    """[B + 1] int64: the same, for kernels."""
    phases: tuple[Phase, ...]
    """[B] A label for the record; no layer computes differently for it."""
    page_tables: Tensor
    """[B, most pages] int32; a shorter table is filled up with -1."""
    state_slots: Tensor
    """[B] int64"""
    context_lengths: tuple[int, ...]
    """[B] positions held after this pass."""
    logit_rows: Tensor
    """[n] int64: the rows whose logits are asked for, ascending."""
    drafted: Tensor | None = None
    """[B] int64, 1 for a sequence with drafts; None if there is none."""

    @classmethod
    def of(cls, spans: Sequence[Span]) -> Batch:
        """Pack the spans in the order given; raises ValueError for a span that is empty, roomless or not alone."""
        bounds = [0]
        rows: list[int] = []
        for span in spans:
            _check(span)
            bounds.append(bounds[-1] + len(span.token_ids))
            if span.logits != "none":
                rows.extend(range(bounds[-1] - 1 if span.logits == "last" else bounds[-2], bounds[-1]))
        if len({span.holding.slot for span in spans}) < len(spans):
            raise ValueError(
                "a sequence is twice in the batch: its second span would not see what the first one writes"
            )
        # One tensor, cut up: making one costs microseconds, which a decode step has few of.
        token_ids, positions, kv_rows, bounds_index, state_slots, logit_rows = _tensors(
            [token for span in spans for token in span.token_ids],
            [p for span in spans for p in range(span.start_position, span.context_length)],
            [row for span in spans for row in _kv_rows(span)],
            bounds,
            [span.holding.slot for span in spans],
            rows,
        )
        return cls(
            token_ids=token_ids,
            positions=positions,
            kv_rows=kv_rows,
            bounds=tuple(bounds),
            bounds_index=bounds_index,
            phases=tuple(span.phase for span in spans),
            page_tables=_page_tables([span.holding.pages for span in spans]),
            state_slots=state_slots,
            context_lengths=tuple(span.context_length for span in spans),
            logit_rows=logit_rows,
            drafted=_drafted(spans),
        )

    def on(self, device: torch.device) -> Batch:
        """The batch with its numbers on the device: itself where they are there already."""
        if self.token_ids.device == device:
            return self
        return replace(self, **{name: tensor.to(device, non_blocking=True) for name, tensor in self.tensors().items()})

    def tensors(self) -> dict[str, Any]:
        """The tensors by name: all that is on the device."""
        own = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in own.items() if isinstance(value, Tensor)}

    @property
    def n_tokens(self) -> int:
        """T"""
        return self.bounds[-1]

    @property
    def n_sequences(self) -> int:
        """B"""
        return len(self.phases)


def _check(span: Span) -> None:
    if not span.token_ids:
        raise ValueError("a span needs at least one token")
    if span.context_length > min(len(span.holding.pages) * PAGE_SIZE, span.holding.length):
        raise ValueError(f"no room was taken for position {span.context_length - 1}: extend the holding first")


def _tensors(*lists: list[int]) -> tuple[Tensor, ...]:
    numbers = np.fromiter(itertools.chain.from_iterable(lists), dtype=np.int64, count=sum(map(len, lists)))
    return torch.from_numpy(numbers).split([len(numbers) for numbers in lists])


def _page_tables(tables: list[list[int]]) -> Tensor:
    widest = max(map(len, tables))
    numbers = [table if len(table) == widest else table + [-1] * (widest - len(table)) for table in tables]
    return torch.from_numpy(np.array(numbers, dtype=np.int32))


def _kv_rows(span: Span) -> Iterable[int]:
    pages = span.holding.pages
    return [pages[p // PAGE_SIZE] * PAGE_SIZE + p % PAGE_SIZE for p in range(span.start_position, span.context_length)]


def _drafted(spans: Sequence[Span]) -> Tensor | None:
    if not any(span.drafted for span in spans):
        return None
    return torch.tensor([int(span.drafted) for span in spans])
