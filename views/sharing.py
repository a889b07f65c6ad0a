"""The same prompt alone and many times at once on the real engine: what a visitor measures, and the kept measurement.

The copies differ in their seeds, so each writes a story of its own. First one runs alone, then all of them together;
everything else that the engine does meanwhile disturbs both, and the table of steps shows it.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from engine.account.record import Sampling
from lessons import playback
from lessons.playback import Playback
from views import engine_calls
from views.engine_runs import EngineRuns, Trouble
from views.measuring import recorded_on
from views.words import _

MOST_COPIES = 8
MEASUREMENT = "together"


@dataclass(frozen=True)
class Shared:
    """One alone and several at once."""

    alone: Playback
    together: Playback
    measured: bool
    """Here, just now; otherwise the kept measurement."""
    how: str

    @property
    def n(self) -> int:
        """How many at once."""
        return len(self.together.arrivals)

    @property
    def gain(self) -> float | None:
        """Tokens a second of all together over those of one alone."""
        return _ratio(self.together.tokens_per_s, self.alone.tokens_per_s)

    @property
    def own_share(self) -> float | None:
        """What each keeps of the speed that it has alone."""
        return _ratio(own_rate(self.together), own_rate(self.alone))


def own_rate(one: Playback) -> float | None:
    """Tokens a second as one request sees them after its first: the median of the requests; None below two tokens."""
    rates = [
        (len(tokens) - 1) * 1e9 / (tokens[-1] - tokens[0])
        for tokens in map(one.token_ns, one.arrivals)
        if len(tokens) > 1 and tokens[-1] > tokens[0]
    ]
    return statistics.median(rates) if rates else None


def kept(n: int) -> Shared | None:
    """The kept measurement for so many copies; None if there is none."""
    try:
        taken = playback.measurement(MEASUREMENT)
    except (OSError, msgspec.DecodeError):
        return None
    copies = [len(one.arrivals) for one in taken.playbacks]
    by_n = {
        at: msgspec.structs.replace(one, name=_heading(at)) for at, one in zip(copies, taken.playbacks, strict=True)
    }
    if 1 not in by_n or n not in by_n:
        return None
    return Shared(by_n[1], by_n[n], measured=False, how=recorded_on(taken))


def _heading(n: int) -> str:
    return _("one alone") if n == 1 else _("{n} at once").format(n=n)


def kept_rates() -> list[tuple[int, float, float]]:
    """(copies, tokens a second of all, of each) for every number of copies that was kept."""
    try:
        taken = playback.measurement(MEASUREMENT)
    except (OSError, msgspec.DecodeError):
        return []
    rates = [(len(one.arrivals), one.tokens_per_s, own_rate(one)) for one in taken.playbacks]
    return sorted((n, every, each) for n, every, each in rates if every is not None and each is not None)


def measure(prompt: str, sampling: Sampling, n: int, tell: Callable[[float], None]) -> Shared:
    """Run the prompt alone, then `n` times at once; `tell` gets the share that is done. Raises `Trouble`.

    Whatever interrupts it (a visitor who presses Stop ends the script there) stops the runs, too.
    """
    if problem := engine_calls.too_much(prompt, sampling, n + 1):
        raise Trouble(problem)
    alone = _play(prompt, sampling, 1, lambda share: tell(share / (n + 1)))
    together = _play(prompt, sampling, n, lambda share: tell((1 + share * n) / (n + 1)))
    how = _("Measured on this engine: one alone, then {n} at once, each of {tokens} new tokens.").format(
        n=n, tokens=sampling.max_new_tokens
    )
    return Shared(alone, together, measured=True, how=how)


def _play(prompt: str, sampling: Sampling, n: int, tell: Callable[[float], None]) -> Playback:
    with EngineRuns(tell) as runs:
        runs.begin_together(prompt, sampling, n)
        runs.wait()
        return runs.playback(_heading(n))


def _ratio(over: float | None, under: float | None) -> float | None:
    return over / under if over is not None and under else None
