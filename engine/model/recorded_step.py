"""Small steps replayed from a recording: what a CUDA graph is to a GPU, for the small calls of a CPU.

A step of a small model spends a fifth of its time in Python, going from one operation to the next. Yet each step makes
the very calls of the one before: same weights, same pools, same sizes; only the batch's numbers differ. So the first
step of its shape is recorded while it runs through the model's own code, and later ones put their numbers into the
recorded batch's tensors and make the calls again. Nothing is computed differently.

A shape is who has how many tokens. Decode steps have few shapes, and so has a prompt that comes in chunks among them.

On a GPU a recording is a CUDA graph, which notes launches without making them; so it is made on nobody's memory first,
which is worth its time for decode steps only.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from torch import Tensor

from engine.memory.alone import put
from engine.memory.memory import Memory
from engine.memory.pages import pages_for
from engine.model.batch import Batch
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
    layers: Callable[[Tensor, Batch, Memory], None]
    """Takes them through all layers, in place: what is recorded."""
    head: Callable[[Tensor, Batch], Tensor]
    """To the logits [n, vocab] of the rows asked for, in memory of their own: whoever gets them may keep them."""


class RecordedSteps:
    """The recordings of one model, by shape. Used by the thread that steps the model."""

    def __init__(self, parts: Parts, context_length: int) -> None:
        self._parts = parts
        self._table_width = pages_for(context_length)
        self._steps: OrderedDict[tuple[int, ...], _Step] = OrderedDict()
        self._buffers: Any = None

    def applies_to(self, batch: Batch) -> bool:
        """Whether the batch is small and without drafts, and all operations are of the kind that can be recorded."""
        if batch.drafted is not None or not dispatch.recordable() or batch.page_tables.shape[1] > self._table_width:
            return False
        if dispatch.runs_while_recording():
            return batch.n_tokens <= MOST_TOKENS
        return batch.n_tokens == batch.n_sequences

    def run(self, batch: Batch, memory: Memory, rotary: Tensor) -> Tensor:
        """Logits [n, vocab] of the rows asked for."""
        step = self._steps.get(batch.bounds)
        if step is None or not step.fits(memory, rotary):
            self._buffers = self._buffers or dispatch.buffers()
            step = _Step(batch, memory, rotary, self._table_width, self._buffers)
            self._steps[batch.bounds] = step
        self._steps.move_to_end(batch.bounds)
        if len(self._steps) > MOST_SHAPES:
            self._steps.popitem(last=False)
        return step.run(batch, self._parts)


class _Step:
    """One recording, with the tensors that its calls read and write."""

    def __init__(self, batch: Batch, memory: Memory, rotary: Tensor, table_width: int, buffers: Any) -> None:
        self._memory, self._rotary, self._buffers = memory, rotary, buffers
        tables = batch.page_tables.new_full((batch.n_sequences, table_width), -1)
        own = {name: tensor.clone() for name, tensor in batch.tensors().items()}
        self._batch = replace(batch, **{**own, "page_tables": tables})
        self._x: Tensor | None = None
        self._recording: dispatch.Recording | None = None

    def fits(self, memory: Memory, rotary: Tensor) -> bool:
        """Whether the pools and the table of rotations are still those that were recorded."""
        return self._memory is memory and self._rotary is rotary

    def run(self, batch: Batch, parts: Parts) -> Tensor:
        x = parts.embed(batch)
        if self._recording is not None and self._x is not None:
            self._take(batch)
            x = put(self._x, x)
            self._recording.replay()
        elif dispatch.runs_while_recording():
            self._take(batch)
            self._record(x, parts)
        else:
            # What is compiled or chosen at a first call comes before: on nobody's memory, which it leaves alone.
            self._take_nobody()
            parts.layers(x.clone(), self._batch, self._memory)
            recorded = x.clone()
            recording = self._record(recorded, parts)
            self._take(batch)
            x = put(recorded, x)
            recording.replay()
        return parts.head(x, batch)

    def _record(self, x: Tensor, parts: Parts) -> dispatch.Recording:
        self._x = x
        with dispatch.record(self._buffers) as recording:
            parts.layers(x, self._batch, self._memory)
        self._recording = recording
        return recording

    def _take_nobody(self) -> None:
        """The numbers of a batch that fills up a step: no page, no slot."""
        self._batch.positions.zero_()
        for numbers in (self._batch.kv_rows, self._batch.state_slots, self._batch.page_tables):
            numbers.fill_(-1)

    def _take(self, batch: Batch) -> None:
        """Put the step's own numbers where the recorded calls look for them. Its bounds are those recorded."""
        self._batch.positions.copy_(batch.positions)
        self._batch.kv_rows.copy_(batch.kv_rows)
        self._batch.state_slots.copy_(batch.state_slots)
        self._batch.page_tables[:, : batch.page_tables.shape[1]] = batch.page_tables
