"""From a plan to logits: gives each sequence its memory, packs the batch, calls the model."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from engine.account.hardware import describe_device
from engine.account.record import Device
from engine.loop.scheduler import Sequence, StepPlan
from engine.memory.memory import Holding, Memory
from engine.model.batch import Batch, Span
from engine.model.model import Model
from kernels.dispatch import in_use


class Runner:
    """The model and its memory. Only the thread that steps the engine may call it."""

    def __init__(self, model: Model, memory: Memory) -> None:
        self.model = model
        self.memory = memory
        self._holdings: dict[Sequence, Holding] = {}

    def compute(self, plan: StepPlan) -> NDArray[np.float32]:
        """Run the plan's tokens through the model. Logits [n, vocab] of the parts that give a token, in their order.

        Raises `OutOfMemory` when pages or slots run out.
        """
        spans = []
        for part in plan.parts:
            holding = self._holding(part.sequence)
            start = self.memory.extend(holding, part.n_tokens)
            assert start == part.sequence.n_held
            spans.append(Span(part.token_ids, start, part.phase, holding, "last" if part.gives_token else "none"))
        logits: NDArray[Any] = self.model.forward(Batch.of(spans), self.memory).numpy()
        return logits

    def release(self, sequence: Sequence) -> None:
        """Free what the sequence owned; one that never ran owns nothing."""
        holding = self._holdings.pop(sequence, None)
        if holding is not None:
            self.memory.close(holding)

    def device(self) -> Device:
        """What computes here: read when asked, since threads and kernels can be changed while the engine lives."""
        return describe_device(threads=torch.get_num_threads(), kernels=in_use())

    def _holding(self, sequence: Sequence) -> Holding:
        holding = self._holdings.get(sequence)
        if holding is None:
            holding = self._holdings[sequence] = self.memory.open()
        return holding
