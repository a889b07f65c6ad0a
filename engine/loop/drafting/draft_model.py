"""Drafts from a smaller model with the same vocabulary, which runs ahead of the large one.

The small model follows the accepted tokens in a holding of its own. To guess, it runs on from a copy, so that a wrong
guess is forgotten with the copy: a recurrent state cannot be cut back.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.account.record import Phase
from engine.loop.drafting.acceptance import DRAFT_STREAM
from engine.loop.sampler import choose, distribution, draw, uniform
from engine.loop.sequence import Draft, Sequence
from engine.memory.errors import OutOfMemory
from engine.memory.memory import Holding, Memory
from engine.model.batch import Span
from engine.model.model import Model


@dataclass
class _Follower:
    """How far the small model has followed one sequence, and its logits [vocab] after the newest token."""

    holding: Holding
    row: NDArray[np.float32] | None = None


class DraftModel:
    """A model, its memory, and how far it has followed each sequence. Used by the thread that steps the engine."""

    def __init__(self, model: Model, memory: Memory) -> None:
        self._model, self._memory = model, memory
        self._followers: dict[Sequence, _Follower] = {}

    def propose(self, sequence: Sequence, n_drafts: int) -> list[Draft]:
        """Guess token after token, each drawn as the sequence draws its own; none where memory has run out."""
        n_drafts = min(n_drafts, self._model.config.context_length - len(sequence.tokens))
        if n_drafts < 1:
            return []
        try:
            return self._run_ahead(sequence, n_drafts)
        except OutOfMemory:
            return []

    def forget(self, sequence: Sequence) -> None:
        """Free what was kept for the sequence."""
        follower = self._followers.pop(sequence, None)
        if follower is not None:
            self._memory.close(follower.holding)

    def _run_ahead(self, sequence: Sequence, n_drafts: int) -> list[Draft]:
        drafts = [self._draft(self._catch_up(sequence), sequence, 0)]
        if n_drafts == 1:
            return drafts
        ahead = self._memory.fork(self._followers[sequence].holding)
        try:
            while len(drafts) < n_drafts:
                row = self._compute(ahead, [drafts[-1].token_id])
                drafts.append(self._draft(row, sequence, len(drafts)))
        finally:
            self._memory.close(ahead)
        return drafts

    def _catch_up(self, sequence: Sequence) -> NDArray[np.float32]:
        """Take in the tokens that were accepted since the last time; the logits after the newest."""
        follower = self._followers.get(sequence)
        if follower is None:
            follower = self._followers[sequence] = _Follower(self._memory.open())
        # Nothing is new to a sequence whose last drafts no step had room for.
        if fresh := sequence.tokens[follower.holding.length :]:
            follower.row = self._compute(follower.holding, fresh)
        assert follower.row is not None
        return follower.row

    def _compute(self, holding: Holding, token_ids: list[int]) -> NDArray[np.float32]:
        start = self._memory.extend(holding, len(token_ids))
        phase: Phase = "decode" if len(token_ids) == 1 else "prefill"
        logits = self._model.forward([Span(token_ids, start, phase, holding)], self._memory)
        row: NDArray[np.float32] = logits.cpu().numpy()[0]
        return row

    @staticmethod
    def _draft(row: NDArray[np.float32], sequence: Sequence, place: int) -> Draft:
        sampling, position = sequence.sampling, len(sequence.tokens) + place
        if sampling.temperature == 0.0:
            return Draft(choose(row, sampling, position))
        odds = distribution(row, sampling)
        return Draft(draw(odds, uniform(sampling.seed, position, DRAFT_STREAM)), odds)
