"""A run as a lane on a clock that starts when its request was made: what happened when, and how much had come by then.

Both kinds of run become the same thing here. Of one from outside there is the wait for the first chunk, in which
queue, prefill and network cannot be told apart, and the gaps between chunks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from engine.account.outside_record import AnyRun, OutsideRun
from engine.account.record import Run
from views.safe_text import token_label
from views.words import N_, Words

Doing = Literal["queue", "prefill", "decode"]
NAMES: Words[Doing] = Words({"queue": N_("queue"), "prefill": N_("prefill"), "decode": N_("decode")})


@dataclass(frozen=True)
class Span:
    """One block of a lane. `tokens_in` is None where nobody outside can know it."""

    doing: Doing
    start_ns: int
    end_ns: int
    tokens_in: int | None
    came: str
    """What was there at its end, as a label."""


@dataclass(frozen=True)
class Lane:
    """One run's blocks in order, and what had come by which moment."""

    spans: tuple[Span, ...]
    tokens: tuple[tuple[int, int], ...] | None
    """(nanoseconds, new tokens so far); None from outside, where a chunk may hold any number."""
    characters: tuple[tuple[int, int], ...]
    """(nanoseconds, characters of text so far)."""

    @property
    def end_ns(self) -> int:
        """End of the last block."""
        return self.spans[-1].end_ns if self.spans else 0


def lane_of(run: AnyRun) -> Lane:
    """The lane of a run, as far as it goes."""
    return _from_outside(run) if isinstance(run, OutsideRun) else _from_inside(run)


def _from_inside(run: Run) -> Lane:
    passes = run.passes
    spans: list[Span] = []
    if passes and passes[0].start_ns:
        spans.append(Span("queue", 0, passes[0].start_ns, None, ""))
    tokens, characters = [(0, 0)], [(0, 0)]
    for one in passes:
        came = " ".join(token_label(emission.token.text) for emission in one.emitted)
        spans.append(Span(one.phase, one.start_ns, one.end_ns, len(one.token_ids), came))
        tokens.append((one.end_ns, tokens[-1][1] + len(one.emitted)))
        text = sum(len(emission.token.text) for emission in one.emitted)
        characters.append((one.end_ns, characters[-1][1] + text))
    return Lane(tuple(spans), tuple(tokens), tuple(characters))


def _from_outside(run: OutsideRun) -> Lane:
    spans: list[Span] = []
    characters, before = [(0, 0)], 0
    for chunk in run.chunks:
        spans.append(Span("decode" if spans else "prefill", before, chunk.at_ns, None, token_label(chunk.text)))
        characters.append((chunk.at_ns, characters[-1][1] + len(chunk.text)))
        before = chunk.at_ns
    return Lane(tuple(spans), None, tuple(characters))
