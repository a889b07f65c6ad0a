r"""Who takes part in the next step, decided in plain Python: no tensors, no clock, no torch.

The scheduler keeps two lines of sequences, waiting and running, and each `plan()` says which of the running ones take
part in the next step and with how many tokens. Today's policy is first come, first served, up to `max_running` at a
time, every prompt in one pass; another policy replaces `_admit` and `_part` and nothing else.

    add -> waiting --plan admits--> running --finish--> gone
              \______________ cancel: leaves at the next plan _______/
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import msgspec

from engine.account.record import Phase


@dataclass(eq=False)
class Sequence:
    """The tokens of one request and how far they have come.

    Always `0 <= n_held < len(tokens)`: the newest token has been sampled but has not been through the model yet.
    """

    run_id: str
    tokens: list[int]
    """Prompt first, then what was generated."""
    n_prompt: int
    max_new_tokens: int
    n_held: int = 0
    """Positions that have been through the model."""
    cancelled: bool = False

    @property
    def n_new(self) -> int:
        """Tokens generated so far."""
        return len(self.tokens) - self.n_prompt

    @property
    def phase(self) -> Phase:
        """Prefill until the whole prompt has been through the model."""
        return "prefill" if self.n_held < self.n_prompt else "decode"

    def advance(self, n_tokens: int, sampled: int | None) -> None:
        """Take a pass's result: `n_tokens` more are held, and perhaps a new token is known."""
        self.n_held += n_tokens
        if sampled is not None:
            self.tokens.append(sampled)
        assert 0 <= self.n_held < len(self.tokens)


@dataclass(frozen=True)
class Part:
    """One sequence's share in a step: its next `n_tokens` tokens."""

    sequence: Sequence
    n_tokens: int
    phase: Phase

    @property
    def token_ids(self) -> list[int]:
        """The tokens that go in."""
        held = self.sequence.n_held
        return self.sequence.tokens[held : held + self.n_tokens]

    @property
    def gives_token(self) -> bool:
        """Only the pass that takes in the newest known token tells the next one."""
        return self.sequence.n_held + self.n_tokens == len(self.sequence.tokens)


@dataclass(frozen=True)
class StepPlan:
    """The next step: who takes part, and who leaves before it because it was cancelled."""

    parts: list[Part] = field(default_factory=list)
    cancelled: list[Sequence] = field(default_factory=list)

    @property
    def n_tokens(self) -> int:
        """Tokens that the step takes in over all its parts."""
        return sum(part.n_tokens for part in self.parts)

    @property
    def n_logits(self) -> int:
        """Positions whose odds are asked for."""
        return sum(part.gives_token for part in self.parts)


class BatchRow(msgspec.Struct, frozen=True):
    """One live request as anyone may see it: how far it is, not whose it is nor what it says."""

    phase: Phase | None
    """What the next step does for it; None while it waits."""
    prompt_tokens: int
    new_tokens: int
    max_new_tokens: int
    positions_held: int
    waiting_for: str | None = None
    """Why it waits, in words; None if it runs."""


class Scheduler:
    """First come, first served, `max_running` sequences at a time."""

    def __init__(self, max_running: int = 1) -> None:
        self.max_running = max_running
        self._waiting: deque[Sequence] = deque()
        self._running: list[Sequence] = []

    def add(self, sequence: Sequence) -> int:
        """Put a sequence at the end of the line; returns how many requests are before it, running ones included."""
        self._waiting.append(sequence)
        return len(self._running) + len(self._waiting) - 1

    def plan(self) -> StepPlan:
        """The next step; without parts if there is nothing to compute."""
        cancelled = self._drop_cancelled()
        self._admit()
        return StepPlan([self._part(sequence) for sequence in self._running], cancelled)

    def finish(self, sequence: Sequence) -> None:
        """A running sequence has all its tokens, or has failed."""
        self._running.remove(sequence)

    def waiting(self) -> list[tuple[Sequence, int]]:
        """Who waits, in order, each with the number of requests before it."""
        before = len(self._running)
        return [(sequence, before + place) for place, sequence in enumerate(self._waiting)]

    def rows(self) -> list[BatchRow]:
        """The live table: running sequences, then waiting ones in order."""
        running = [_row(sequence, sequence.phase, None) for sequence in self._running]
        return running + [_row(sequence, None, self._reason(ahead)) for sequence, ahead in self.waiting()]

    def _admit(self) -> None:
        while self._waiting and len(self._running) < self.max_running:
            self._running.append(self._waiting.popleft())

    def _part(self, sequence: Sequence) -> Part:
        return Part(sequence, len(sequence.tokens) - sequence.n_held, sequence.phase)

    def _drop_cancelled(self) -> list[Sequence]:
        leaving = [sequence for sequence in (*self._running, *self._waiting) if sequence.cancelled]
        if leaving:
            self._running = [sequence for sequence in self._running if not sequence.cancelled]
            self._waiting = deque(sequence for sequence in self._waiting if not sequence.cancelled)
        return leaving

    def _reason(self, ahead: int) -> str:
        turns = "one at a time" if self.max_running == 1 else f"{self.max_running} at a time"
        return f"{ahead} before it; requests are served {turns}" if ahead >= self.max_running else "the next step"


def _row(sequence: Sequence, phase: Phase | None, reason: str | None) -> BatchRow:
    return BatchRow(phase, sequence.n_prompt, sequence.n_new, sequence.max_new_tokens, sequence.n_held, reason)
