"""What guessing ahead came to in one run: how many guesses there were, how many held, and what a check cost.

Law 9 (Leviathan and others, 2023): if each guess is right with chance a, independently, a pass that checks g of them
emits (1 - a^(g+1)) / (1 - a) tokens on average: the right ones before the first that is wrong, and one of the model's
own.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from engine.account.metrics import percentile
from engine.account.record import Pass, Run


@dataclass(frozen=True)
class Drafting:
    """The decode passes of a run, by whether they checked guesses."""

    checks: tuple[Pass, ...]
    """Passes that checked at least one guess."""
    plain: tuple[Pass, ...]
    """Passes that had none to check."""

    @classmethod
    def of(cls, run: Run) -> Drafting:
        """Read a run, with drafts or without."""
        decodes = [one for one in run.passes if one.phase == "decode"]
        return cls(tuple(one for one in decodes if one.drafted), tuple(one for one in decodes if not one.drafted))

    @property
    def drafted(self) -> int:
        """Guesses that went in."""
        return sum(one.drafted for one in self.checks)

    @property
    def accepted(self) -> int:
        """Guesses that were right, up to the first wrong one of their pass."""
        return sum(one.accepted for one in self.checks)

    @property
    def judged(self) -> int:
        """Guesses that the model came to: behind the first wrong one a guess follows a text that is not there."""
        return self.accepted + sum(one.accepted < one.drafted for one in self.checks)

    @property
    def acceptance(self) -> float | None:
        """The chance of a guess, estimated: the share of the judged ones that were right; None without guesses."""
        return self.accepted / self.judged if self.judged else None

    @property
    def tokens_per_check(self) -> float | None:
        """Tokens that a pass with guesses emitted, on average."""
        return statistics.fmean(len(one.emitted) for one in self.checks) if self.checks else None

    @property
    def expected_per_check(self) -> float | None:
        """The same by law 9 for this acceptance, each pass with as many guesses as it had."""
        a = self.acceptance
        return None if a is None else statistics.fmean(expected_tokens(a, one.drafted) for one in self.checks)

    @property
    def tokens_per_decode(self) -> float | None:
        """Tokens a decode pass emitted, with guesses or without."""
        decodes = self.checks + self.plain
        return statistics.fmean(len(one.emitted) for one in decodes) if decodes else None

    @property
    def check_cost(self) -> float | None:
        """How many times as long as a pass with one token a pass with guesses took, both as medians in this run."""
        with_guesses, alone = _median_ns(self.checks), _median_ns(self.plain)
        return with_guesses / alone if with_guesses and alone else None


def expected_tokens(acceptance: float, n_drafts: int) -> float:
    """Law 9: tokens that a pass emits on average when it checks `n_drafts` guesses."""
    if acceptance == 1:
        return n_drafts + 1.0
    return float((1 - acceptance ** (n_drafts + 1)) / (1 - acceptance))


def _median_ns(passes: tuple[Pass, ...]) -> int | None:
    return percentile([one.end_ns - one.start_ns for one in passes], 50)
