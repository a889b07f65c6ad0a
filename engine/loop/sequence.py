"""A request's tokens on their way through the model, and what one step does with them."""

from __future__ import annotations

from collections.abc import Sequence as Many
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from engine.account.record import Phase, Sampling, Serving
from engine.account.step_record import Wait

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from engine.memory.handover import Exported


class Draft(NamedTuple):
    """A guess at a token that is not known yet; a pass checks it.

    `odds` [vocab] is the distribution that the guess was drawn from; None if it was not drawn but looked up.
    """

    token_id: int
    odds: NDArray[np.floating] | None = None


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
    """Positions that have been through the model and whose memory is kept."""
    cancelled: bool = False
    sampling: Sampling = field(default_factory=Sampling)
    serving: Serving = field(default_factory=Serving)
    ticket: int = 0
    """Its number at the engine, counted from 1."""
    n_refill: int = 0
    """Tokens that prefill has to take in: the prompt, and after a preemption all that was known then."""
    drafts: Many[Draft] = ()
    """Guesses for the next step."""
    checkpoint_at: list[int] = field(default_factory=list)
    """Positions, ascending, at which prefill pauses so that a prefix checkpoint can be taken."""
    arrived: Exported | None = None
    """Memory that came from another engine and is taken over when it joins the batch."""
    in_lane: bool = False
    """Whether it was asked for by whoever had reserved the engine."""
    held: bool = False
    """Whether it waits for a reservation to end."""

    def __post_init__(self) -> None:
        self.n_refill = self.n_refill or self.n_prompt

    @property
    def n_new(self) -> int:
        """Tokens generated so far."""
        return len(self.tokens) - self.n_prompt

    @property
    def recomputes(self) -> bool:
        """Whether nothing is kept between its passes, so that every one starts from the first token."""
        return self.serving.cache == "recomputed"

    @property
    def phase(self) -> Phase:
        """Prefill until all tokens that were known beforehand have been through the model.

        A sequence that recomputes decodes from its second pass on: each gives one more token, whatever it has to redo.
        """
        waiting_for_prefill = self.n_new == 0 if self.recomputes else self.n_held < self.n_refill
        return "prefill" if waiting_for_prefill else "decode"

    def advance(self, n_kept: int, sampled: Many[int] = ()) -> None:
        """Take a pass's result: the memory of `n_kept` more tokens is kept, and perhaps new tokens are known."""
        if not self.recomputes:
            self.n_held += n_kept
        self.tokens.extend(sampled)
        self.drafts = ()
        assert 0 <= self.n_held < len(self.tokens)

    def start_over(self) -> None:
        """Its memory is gone: all that is known now has to go through the model again."""
        self.n_held, self.n_refill = 0, len(self.tokens)
        self.drafts, self.checkpoint_at = (), []


class Part:
    """One sequence's share in a step: its next known tokens, and after them drafts.

    Worked out once, when the step is planned: it is asked for its sizes many times, and a step has microseconds.
    """

    __slots__ = ("drafts", "gives_token", "n_logits", "n_rows", "n_tokens", "phase", "sequence", "start")

    def __init__(self, sequence: Sequence, n_tokens: int, phase: Phase, drafts: Many[Draft] = ()) -> None:
        self.sequence = sequence
        self.n_tokens = n_tokens
        """Known tokens, drafts not counted."""
        self.phase = phase
        self.drafts = drafts
        self.start = sequence.n_held
        """Position of the first token."""
        self.n_rows = n_tokens + len(drafts)
        """Tokens that go in."""
        self.gives_token = sequence.n_held + n_tokens == len(sequence.tokens)
        """Only the pass that takes in the newest known token tells the next one."""
        self.n_logits = 1 + len(drafts) if self.gives_token else 0
        """Positions whose odds are asked for: the newest known token's, and every draft's."""

    @property
    def token_ids(self) -> list[int]:
        """The tokens that go in, drafts last."""
        known = self.sequence.tokens[self.start : self.start + self.n_tokens]
        return known + [draft.token_id for draft in self.drafts] if self.drafts else known


@dataclass(frozen=True)
class StepPlan:
    """The next step: who takes part, who comes in and who leaves before it, and why the others wait."""

    parts: list[Part] = field(default_factory=list)
    cancelled: list[Sequence] = field(default_factory=list)
    admitted: list[Sequence] = field(default_factory=list)
    preempted: list[tuple[Sequence, int]] = field(default_factory=list)
    """Each with the number of positions that it held."""
    waiting: list[Wait] = field(default_factory=list)
    n_queued: int = 0
    """How many stand in the queue, listed or not."""

    @property
    def n_tokens(self) -> int:
        """Tokens that the step takes in over all its parts."""
        return sum(part.n_rows for part in self.parts)

    @property
    def n_logits(self) -> int:
        """Positions whose odds are asked for."""
        return sum(part.n_logits for part in self.parts)
