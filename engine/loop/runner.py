"""From a plan to logits: gives each sequence its memory, packs the batch, calls the model, settles what is kept.

It is also the scheduler's `Room`: whoever plans takes pages and slots here, whoever computes finds them taken.
"""

from __future__ import annotations

from collections.abc import Sequence as Many
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from engine.account.hardware import describe_device
from engine.account.record import Device
from engine.loop.request import RequestError
from engine.loop.room import Usage
from engine.loop.sequence import Part, Sequence, StepPlan
from engine.memory.errors import BrokenHandover, OutOfMemory
from engine.memory.handover import Exported, check_exported, export_sequence, import_sequence
from engine.memory.memory import Holding, Memory
from engine.memory.pages import pages_for
from engine.memory.prefix import PrefixCache, open_or_make_room
from engine.model.batch import Span
from engine.model.journal import Journal
from engine.model.model import Model
from kernels.dispatch import in_use


class Runner:
    """The model and its memory. Only the thread that steps the engine may call it."""

    def __init__(self, model: Model, memory: Memory, max_checkpoints: int = 0) -> None:
        self.model = model
        self.memory = memory
        self.prefixes = PrefixCache(memory, max_checkpoints)
        self._holdings: dict[Sequence, Holding] = {}
        self._journal: Journal | None = None
        self.threads = torch.get_num_threads()
        """How many compute; may be set by any thread, and the next step follows it."""

    def enter(self, sequence: Sequence) -> bool:
        """See `Room`. Lets nobody in whose known tokens have no pages: they would be taken from others at once.

        One alone always fits, the engine has seen to that; unless a trace holds pages, which it gives back by itself.
        """
        holding = self._open(sequence)
        if holding is None:
            return False
        needed = pages_for(len(sequence.tokens)) - len(holding.pages)
        while self.memory.pages.n_free < needed and self.prefixes.evict():
            pass
        if self.memory.pages.n_free < needed:
            self.memory.close(holding)
            return False
        self._holdings[sequence] = holding
        sequence.n_held, sequence.arrived = holding.length, None
        return True

    def reserve(self, sequence: Sequence, n_tokens: int) -> bool:
        """See `Room`. Checkpoints give way to sequences."""
        while True:
            try:
                self.memory.extend(self._holdings[sequence], n_tokens)
                return True
            except OutOfMemory:
                if not self.prefixes.evict():
                    return False

    def leave(self, sequence: Sequence) -> None:
        """See `Room`. A finished sequence that may be continued leaves a checkpoint of all it held."""
        holding = self._holdings.pop(sequence, None)
        if holding is None:
            return
        # Room that was reserved and not computed in (a step that failed) is not part of what is held.
        if sequence.serving.reuse_prefix and 0 < sequence.n_held == holding.length and sequence.phase == "decode":
            self.prefixes.keep(sequence.tokens[: sequence.n_held], holding)
        self.memory.close(holding)

    def usage(self) -> Usage:
        """See `Room`."""
        pages, slots = self.memory.pages, self.memory.slots
        return Usage(pages.n_pages - pages.n_free, pages.n_pages, slots.n_slots - slots.n_free, slots.n_slots)

    def compute(self, plan: StepPlan) -> NDArray[np.float32]:
        """Run the plan's tokens through the model. Logits [n, vocab] of the parts that give a token, in their order;
        a part with g drafts has 1 + g rows.
        """
        if torch.get_num_threads() != self.threads:  # the number belongs to the thread that computes
            torch.set_num_threads(self.threads)
        self._journal = Journal() if any(part.drafts for part in plan.parts) else None
        spans = [self._span(part) for part in plan.parts]
        logits: NDArray[Any] = self.model.forward(spans, self.memory, self._journal).cpu().numpy()
        return logits

    def settle(self, plan: StepPlan, accepted: Many[int]) -> None:
        """Keep of each part what counts: its known tokens and the first `accepted` drafts. Call it after every step,
        before the sequences advance.
        """
        if self._journal is not None:
            rows = [part.n_tokens + n if part.drafts else -1 for part, n in zip(plan.parts, accepted, strict=True)]
            self._journal.fold(rows)
        for part, n_accepted in zip(plan.parts, accepted, strict=True):
            holding = self._holdings[part.sequence]
            if part.sequence.recomputes:
                self.memory.clear(holding)
            elif n_accepted < len(part.drafts):
                self.memory.truncate(holding, part.start + part.n_tokens + n_accepted)
            if part.phase == "prefill" and part.sequence.serving.reuse_prefix:
                self._checkpoint(part, holding)

    def device(self, *, drafts: bool) -> Device:
        """What computes here: read when asked, since threads and kernels can be changed while the engine lives."""
        called = self.model.operations(drafts=drafts)
        kernels = {operation: name for operation, name in in_use().items() if operation in called}
        kind = self.model.device.type
        name = torch.cuda.get_device_name(self.model.device) if kind == "cuda" else None
        return describe_device(threads=self.threads, kernels=kernels, kind=kind, name=name)

    def export(self, sequence: Sequence) -> Exported:
        """A copy of all that a sequence holds, for another engine; between steps."""
        return export_sequence(self.memory, self._holdings[sequence])

    def check_arrived(self, exported: Exported, tokens: Many[int]) -> None:
        """Raise RequestError (`broken_handover`) unless this is the memory of all these tokens but the newest."""
        try:
            if exported.length != len(tokens) - 1:
                raise BrokenHandover(f"Memory of {exported.length} positions came with {len(tokens)} tokens.")
            check_exported(self.memory, exported)
        except BrokenHandover as broken:
            raise RequestError("broken_handover", str(broken)) from None

    def check(self) -> None:
        """Raise IntegrityError if a page or a slot is lost or has two owners; between steps."""
        self.memory.check_integrity()

    def _open(self, sequence: Sequence) -> Holding | None:
        if sequence.arrived is not None:
            return self._take_over(sequence.arrived)
        if not sequence.serving.reuse_prefix or sequence.recomputes:
            return open_or_make_room(self.memory, self.prefixes)
        branch = self.prefixes.branch(sequence.tokens[: sequence.n_prompt])
        sequence.checkpoint_at = [branch] if branch else []
        try:
            holding = self.prefixes.open(sequence.tokens)
        except OutOfMemory:
            holding = None
        return holding or open_or_make_room(self.memory, self.prefixes)

    def _take_over(self, exported: Exported) -> Holding | None:
        """What came from another engine, in memory of our own; checkpoints give way to it."""
        while True:
            try:
                return import_sequence(self.memory, exported)
            except OutOfMemory:
                if not self.prefixes.evict():
                    return None

    def _checkpoint(self, part: Part, holding: Holding) -> None:
        sequence = part.sequence
        shared = holding.length in sequence.checkpoint_at
        if shared or holding.length == sequence.n_prompt:
            self.prefixes.keep(sequence.tokens[: holding.length], holding, shared=shared)

    def _span(self, part: Part) -> Span:
        logits: Literal["none", "last", "all"] = "none" if not part.gives_token else "all" if part.drafts else "last"
        holding = self._holdings[part.sequence]
        assert holding.length == part.start + part.n_rows
        return Span(part.token_ids, part.start, part.phase, holding, logits, drafted=bool(part.drafts))
