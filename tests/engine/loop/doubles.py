"""A byte tokenizer and a model that needs no weights: the loop must not depend on what a model says."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import numpy as np

from engine.account.record import Token
from engine.loop.engine import Engine
from engine.loop.policy import Policy
from engine.loop.room import Usage
from engine.loop.sequence import Sequence, StepPlan
from tests.engine.builders import DEVICE, TINY

VOCAB = 257
END = 256


class ByteTokenizer:
    """One token a byte, and one more that ends the text."""

    eos_ids = frozenset({END})
    longest_token_bytes = 1
    chat_template = None

    def encode(self, text: str) -> list[int]:
        return list(text.encode())

    def token(self, token_id: int) -> Token:
        return Token.of(token_id, b"" if token_id == END else bytes([token_id]))


class MockRunner:
    """Logits that depend on every token before them and on nothing else, as a model's do; notes every plan."""

    def __init__(self, before: Callable[[StepPlan], None] = lambda plan: None) -> None:
        self.before = before
        self.plans: list[list[tuple[str, int, str]]] = []
        self.owners: set[str] = set()

    def compute(self, plan: StepPlan) -> np.ndarray:
        self.before(plan)
        self.plans.append([(p.sequence.run_id, p.n_tokens, p.phase) for p in plan.parts])
        rows = [self.logits(tokens) for part in plan.parts if part.gives_token for tokens in heads(part)]
        return np.stack(rows) if rows else np.empty((0, VOCAB), dtype=np.float32)

    def logits(self, tokens: list[int]) -> np.ndarray:
        digest = hashlib.sha256(repr(tokens).encode()).digest()
        row = np.random.default_rng(int.from_bytes(digest[:8], "big")).normal(size=VOCAB) * 3
        row[END] = -50.0  # texts end only where a test says so
        return row.astype(np.float32)

    def enter(self, sequence: Sequence) -> bool:
        self.owners.add(sequence.run_id)
        return True

    def reserve(self, sequence: Sequence, n_tokens: int) -> bool:
        return True

    def leave(self, sequence: Sequence) -> None:
        self.owners.discard(sequence.run_id)

    def settle(self, plan: StepPlan, accepted: list[int]) -> None:
        """Nothing is kept here."""

    def usage(self) -> Usage:
        return Usage(0, 0, len(self.owners), 99)

    def check(self) -> None:
        """There are no books."""

    threads = 1

    def device(self, *, drafts):
        return DEVICE


def heads(part):
    """The tokens before each position whose odds a part asks for: with drafts there are several."""
    tokens = list(part.sequence.tokens)
    return [tokens + [draft.token_id for draft in part.drafts[:n]] for n in range(1 + len(part.drafts))]


def mock_engine(runner: MockRunner | None = None, **settings) -> Engine:
    """One request at a time, if a test does not ask for more."""
    settings.setdefault("policy", Policy(max_running=1))
    return Engine(runner or MockRunner(), ByteTokenizer(), TINY, **settings)
