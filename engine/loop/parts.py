"""What the engine needs of its two parts. Real ones need torch; tests of the loop use ones that do not."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from engine.account.record import Device, Token
from engine.loop.scheduler import Sequence, StepPlan


class Computes(Protocol):
    """What the engine needs of a runner; `engine.loop.runner.Runner` is the real one."""

    def compute(self, plan: StepPlan) -> NDArray[np.float32]:
        """Logits [n, vocab] of the parts that give a token; the record reads them later, so they must not change."""

    def release(self, sequence: Sequence) -> None:
        """Free what the sequence owned."""

    def device(self) -> Device:
        """What computes."""


class Tokenizes(Protocol):
    """What the engine needs of a tokenizer; `engine.model.tokenizer.Tokenizer` is the real one."""

    eos_ids: frozenset[int]

    @property
    def longest_token_bytes(self) -> int:
        """Bytes of the vocabulary's longest token."""

    def encode(self, text: str) -> list[int]:
        """Token ids of a text."""

    def token(self, token_id: int) -> Token:
        """A token with its bytes."""
