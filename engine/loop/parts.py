"""What the engine needs of its parts. Real ones need torch; tests of the loop use ones that do not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from engine.account.record import Device, Token
from engine.loop.room import Room
from engine.loop.sequence import Draft, Sequence, StepPlan

if TYPE_CHECKING:
    from engine.model.chat_template import ChatTemplate


class Computes(Room, Protocol):
    """What the engine needs of a runner; `engine.loop.runner.Runner` is the real one."""

    def compute(self, plan: StepPlan) -> NDArray[np.float32]:
        """Logits [n, vocab] of the parts that give a token, 1 + drafts rows each; the record reads them later, so they
        must not change.
        """

    def settle(self, plan: StepPlan, accepted: list[int]) -> None:
        """Keep of each part its known tokens and so many of its drafts; before the sequences advance."""

    threads: int
    """How many threads compute from the next step on."""

    def check(self) -> None:
        """Raise if the memory's books do not balance; between steps."""

    def device(self, *, drafts: bool) -> Device:
        """What computes a request with or without drafts."""


class Drafts(Protocol):
    """Who guesses tokens ahead; `engine.loop.drafting` has two."""

    def propose(self, sequence: Sequence, n_drafts: int) -> list[Draft]:
        """At most so many guesses at what follows the sequence's tokens; none is fine."""

    def forget(self, sequence: Sequence) -> None:
        """The sequence has left."""


class Tokenizes(Protocol):
    """What the engine needs of a tokenizer; `engine.model.tokenizer.Tokenizer` is the real one."""

    eos_ids: frozenset[int]
    chat_template: ChatTemplate | None
    """How messages become a prompt; None for a model that only continues text."""

    @property
    def longest_token_bytes(self) -> int:
        """Bytes of the vocabulary's longest token."""

    def encode(self, text: str) -> list[int]:
        """Token ids of a text."""

    def token(self, token_id: int) -> Token:
        """A token with its bytes."""
