"""Small steps replayed from a recording: what a CUDA graph is to a GPU, for the small calls of a CPU.

A step of a small model spends a fifth of its time in Python, going from one operation to the next. Yet each step makes
the very calls of the one before: same weights, same pools, same sizes; only the batch's numbers differ. So the first
step of its shape is recorded while it runs through the model's own code, and later ones put their numbers into the
recorded batch's tensors and make the calls again. Nothing is computed differently.

A shape is who has how many tokens, whose odds are asked for, and who has drafts. Decode steps have few shapes, and so
has a prompt that comes in chunks among them.

On a GPU a recording is a CUDA graph, which notes launches without making them; so it is made on nobody's memory first,
which is worth its time for decode steps only.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from engine.memory.alone import put
from engine.memory.memory import Memory
from engine.memory.pages import pages_for
from engine.model.batch import Batch, Shape, Span
from engine.model.journal import Entry, Journal
from kernels import dispatch

MOST_TOKENS = 63
"""Of a step that is recorded. In a larger one the calls themselves take so long that their number does not matter, and
some processors compute it with a library (`kernels.bf16_products`), whose calls cannot be replayed."""
MOST_SHAPES = 64
"""Recordings that are kept: the ones last used."""


@dataclass(frozen=True)
class Parts:
    """The three parts of a model's pass."""

    embed: Callable[[Batch], Tensor]
    """To the embedded tokens [T, hidden]."""
    layers: Callable[[Tensor, Batch, Memory, Journal | None], None]
    """Takes them through all layers, in place: what is recorded. Of drafts the journal takes what would be written."""
    head: Callable[[Tensor, Batch], Tensor]
    """To the logits [n, vocab] of the rows asked for, in memory of their own: whoever gets them may keep them."""


class RecordedSteps:
    """The recordings of one model, by shape. Used by the thread that steps the model."""

    def __init__(self, parts: Parts, context_length: int, device: torch.device) -> None:
        self._parts, self._device = parts, device
        self._table_width = pages_for(context_length)
        self._steps: OrderedDict[Shape, _Step] = OrderedDict()
        self._buffers: Any = None

    def applies_to(self, spans: Sequence[Span], shape: Shape) -> bool:
        """Whether the pass is small, and all operations are of the kind that can be recorded."""
        if shape.n_tokens > MOST_TOKENS or not dispatch.recordable(drafts=shape.drafted is not None):
            return False
        if any(len(span.holding.pages) > self._table_width for span in spans):
            return False
        return dispatch.runs_while_recording() or shape.n_tokens == shape.n_sequences

    def run(
        self, spans: Sequence[Span], shape: Shape, memory: Memory, rotary: Tensor, journal: Journal | None = None
    ) -> Tensor:
        """Logits [n, vocab] of the rows asked for."""
        step = self._steps.get(shape)
        if step is None or not step.fits(memory, rotary):
            self._buffers = self._buffers or dispatch.buffers()
            batch = Batch.empty(shape, self._table_width)
            step = self._steps[shape] = _Step(batch, self._device, memory, rotary, self._buffers)
        self._steps.move_to_end(shape)
        if len(self._steps) > MOST_SHAPES:
            self._steps.popitem(last=False)
        return step.run(spans, self._parts, journal)


class _Step:
    """One recording, with the tensors that its calls read and write."""

    def __init__(self, batch: Batch, device: torch.device, memory: Memory, rotary: Tensor, buffers: Any) -> None:
        self._memory, self._rotary, self._buffers = memory, rotary, buffers
        self._here = batch
        """Where the numbers of each pass are written: on the CPU."""
        self._batch = batch.on(device)
        """Where the calls look for them: the same, unless they run elsewhere."""
        self._x: Tensor | None = None
        self._recording: dispatch.Recording | None = None
        self._noted: tuple[Entry, ...] = ()
        """What the recorded layers add to a journal."""

    def fits(self, memory: Memory, rotary: Tensor) -> bool:
        """Whether the pools and the table of rotations are still those that were recorded."""
        return self._memory is memory and self._rotary is rotary

    def run(self, spans: Sequence[Span], parts: Parts, journal: Journal | None) -> Tensor:
        if self._recording is not None and self._x is not None:
            self._take(spans)
            x = put(self._x, parts.embed(self._batch))
            self._recording.replay()
            if journal is not None:
                journal.add(self._batch, *self._noted)
        elif dispatch.runs_while_recording():
            self._take(spans)
            x = parts.embed(self._batch)
            self._record(x, parts, journal)
        else:
            # What is compiled or chosen at a first call comes before: on nobody's memory, which it leaves alone.
            self._take_nobody()
            x = parts.embed(self._batch)
            parts.layers(x.clone(), self._batch, self._memory, None)
            recording = self._record(x, parts, None)
            self._take(spans)
            put(x, parts.embed(self._batch))
            recording.replay()
        return parts.head(x, self._batch)

    def _record(self, x: Tensor, parts: Parts, journal: Journal | None) -> dispatch.Recording:
        self._x = x
        with dispatch.record(self._buffers) as recording:
            parts.layers(x, self._batch, self._memory, journal)
        self._recording = recording
        self._noted = () if journal is None else journal.entries
        return recording

    def _take(self, spans: Sequence[Span]) -> None:
        """Put the pass's own numbers where the recorded calls look for them."""
        self._here.take(spans)
        if self._batch is not self._here:
            for name in ("token_ids", "positions", "kv_rows", "state_slots", "page_tables"):
                getattr(self._batch, name).copy_(getattr(self._here, name), non_blocking=True)

    def _take_nobody(self) -> None:
        """The numbers of a batch that fills up a step: no page, no slot."""
        self._batch.positions.zero_()
        for numbers in (self._batch.kv_rows, self._batch.state_slots, self._batch.page_tables):
            numbers.fill_(-1)
