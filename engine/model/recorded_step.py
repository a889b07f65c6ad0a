"""Decode steps replayed from a recording: what a CUDA graph is to a GPU, for the small calls of a CPU.

A decode step of a small model spends a fifth of its time in Python, going from one operation to the next. Yet each step
makes the very calls of the one before: same weights, same pools, same sizes; only the batch's numbers differ. So the
first step of its kind is recorded while it runs through the model's own code, and later ones put their numbers into the
recorded batch's tensors and make the calls again. Nothing is computed differently.

On a GPU a recording is a CUDA graph, which notes launches without making them; so it is made on nobody's memory first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from engine.memory.memory import Memory
from engine.memory.pages import pages_for
from engine.model.batch import Batch
from kernels import dispatch

Forward = Callable[[Tensor, Batch, Memory], Tensor]


class RecordedSteps:
    """The recordings of one model, by number of sequences. Used by the thread that steps the model."""

    def __init__(self, embed: Callable[[Batch], Tensor], forward: Forward, context_length: int) -> None:
        """`forward` takes the embedded tokens [B, hidden] through all layers, in place, to logits."""
        self._embed, self._forward = embed, forward
        self._table_width = pages_for(context_length)
        self._steps: dict[int, _Step] = {}

    def applies_to(self, batch: Batch) -> bool:
        """Whether the batch is a plain decode step, and all operations are of the kind that can be recorded."""
        one_each = batch.n_tokens == batch.n_sequences == len(batch.logit_rows)
        return one_each and dispatch.recordable() and batch.page_tables.shape[1] <= self._table_width

    def run(self, batch: Batch, memory: Memory, rotary: Tensor) -> Tensor:
        """Logits [B, vocab] of the step."""
        step = self._steps.get(batch.n_sequences)
        if step is None or not step.fits(memory, rotary):
            step = _Step(batch, memory, rotary, self._table_width)
            self._steps[batch.n_sequences] = step
        return step.run(batch, self._embed, self._forward)


class _Step:
    """One recording, with the tensors that its calls read and write."""

    def __init__(self, batch: Batch, memory: Memory, rotary: Tensor, table_width: int) -> None:
        self._memory, self._rotary = memory, rotary
        tables = batch.page_tables.new_full((batch.n_sequences, table_width), -1)
        own = {name: tensor.clone() for name, tensor in batch.tensors().items()}
        self._batch = replace(batch, **{**own, "page_tables": tables})
        self._x: Tensor | None = None
        self._logits: Tensor | None = None
        self._recording: dispatch.Recording | None = None

    def fits(self, memory: Memory, rotary: Tensor) -> bool:
        """Whether the pools and the table of rotations are still those that were recorded."""
        return self._memory is memory and self._rotary is rotary

    def run(self, batch: Batch, embed: Callable[[Batch], Tensor], forward: Forward) -> Tensor:
        x = embed(batch)
        if self._recording is not None:
            self._take(batch)
            return self._replay(self._recording, x)
        if dispatch.runs_while_recording():
            self._take(batch)
            self._record(x, forward)
            return self._copy()
        # What is compiled or chosen at a first call comes before: on nobody's memory, which it leaves alone.
        self._take_nobody()
        forward(x.clone(), self._batch, self._memory)
        recording = self._record(x.clone(), forward)
        self._take(batch)
        return self._replay(recording, x)

    def _record(self, x: Tensor, forward: Forward) -> dispatch.Recording:
        self._x = x
        with dispatch.record() as recording:
            self._logits = forward(x, self._batch, self._memory)
        self._recording = recording
        return recording

    def _replay(self, recording: dispatch.Recording, x: Tensor) -> Tensor:
        assert self._x is not None
        self._x.copy_(x)
        recording.replay()
        return self._copy()

    def _copy(self) -> Tensor:
        """The logits, out of the tensor that the next step writes.

        Not by torch on a CPU: beyond 32,768 numbers it wakes OpenMP's threads, and these go on spinning for some
        milliseconds, on the cores that the kernels' own threads compute on.
        """
        assert self._logits is not None
        if self._logits.device.type == "cpu":
            return torch.from_numpy(self._logits.numpy().copy())
        return self._logits.clone()

    def _take_nobody(self) -> None:
        """The numbers of a batch that fills up a step: no page, no slot."""
        self._batch.positions.zero_()
        for numbers in (self._batch.kv_rows, self._batch.state_slots, self._batch.page_tables):
            numbers.fill_(-1)

    def _take(self, batch: Batch) -> None:
        """Put the step's own numbers where the recorded calls look for them. Bounds and rows are always the same."""
        self._batch.positions.copy_(batch.positions)
        self._batch.kv_rows.copy_(batch.kv_rows)
        self._batch.state_slots.copy_(batch.state_slots)
        self._batch.page_tables[:, : batch.page_tables.shape[1]] = batch.page_tables
