"""Two runs of the same prompt side by side: how they were served, what each put through the model, and how far their
odds lie apart.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from engine.account.metrics import percentile
from engine.account.record import CacheMode, DraftSource, Emission, Header, ModelShape, Run, Token
from engine.loop.variant import split_variant
from views.words import _

TOLERANCE = 0.02
"""How far two natural logarithms of odds may lie apart: what the engine's tests allow two implementations in bf16."""


@dataclass(frozen=True)
class Gap:
    """The odds of both runs for one place in the text, as far as both records list them."""

    token: Token
    """What the first run chose there."""
    position: int
    largest: float
    """The largest difference of natural logarithms over the candidates that both list."""
    n_compared: int


@dataclass(frozen=True)
class Compared:
    """Both runs' odds, token by token, while their texts are the same."""

    gaps: tuple[Gap, ...]
    parted_at: int | None
    """Which new token, from 0, was the first to differ; None if none did. Beyond it the odds are of different texts."""

    @property
    def largest(self) -> float | None:
        """The largest gap; None where nothing could be compared."""
        return max((gap.largest for gap in self.gaps), default=None)


def same_question(first: Run, second: Run) -> bool:
    """Whether the same model got the same prompt with the same settings, so that comparing both means something; its
    weights may have another format.
    """
    one, other = first.header, second.header
    return (one.prompt, one.sampling, _shape(one)) == (other.prompt, other.sampling, _shape(other))


def _shape(header: Header) -> ModelShape:
    name = str(split_variant(header.model.name)[0])
    return msgspec.structs.replace(header.model, name=name, weight_dtype="", weight_bytes=0, head_bytes=None)


def compare_odds(first: Run, second: Run) -> Compared:
    """Walk along both texts and compare the odds at each place, until the texts part."""
    gaps: list[Gap] = []
    for number, (one, other) in enumerate(zip(first.emissions, second.emissions, strict=False)):
        differences = list(_differences(one, other))
        if differences:
            gaps.append(Gap(one.token, one.position, max(differences), len(differences)))
        if one.token.id != other.token.id:
            return Compared(tuple(gaps), number)
    return Compared(tuple(gaps), None)


def _differences(one: Emission, other: Emission) -> Iterator[float]:
    odds = {candidate.token.id: candidate.model for candidate in other.candidates}
    for candidate in one.candidates:
        theirs = odds.get(candidate.token.id)
        if theirs and candidate.model:
            yield abs(math.log(candidate.model) - math.log(theirs))


def tokens_computed(run: Run) -> int:
    """Token positions that went through the layers, over all passes; what is computed again counts again."""
    return sum(len(one.token_ids) for one in run.passes)


def busy_ns(run: Run) -> int | None:
    """From the start of the first pass to the end of the last: the queue is left out. None before there is a pass."""
    return run.passes[-1].end_ns - run.passes[0].start_ns if run.passes else None


def step_ns(run: Run) -> int | None:
    """The median duration of a decode pass; None where there is none."""
    return percentile([one.end_ns - one.start_ns for one in run.passes if one.phase == "decode"], 50)


def ratio(over: float | None, under: float | None) -> float | None:
    """The quotient; None where either is missing or there is nothing to divide by."""
    return over / under if over is not None and under else None


def lane_names(first: Run, second: Run) -> tuple[str, str]:
    """What two runs are called side by side: by what sets them apart, by number where nothing does."""
    one, other = first.header.serving, second.header.serving
    if one.cache != other.cache:
        return _cache_words(one.cache), _cache_words(other.cache)
    if (one.drafts == "none") != (other.drafts == "none"):
        return _draft_words(one.drafts), _draft_words(other.drafts)
    return _("first run"), _("second run")


def _cache_words(mode: CacheMode) -> str:
    return _("with cache") if mode == "kept" else _("recomputed")


def _draft_words(source: DraftSource) -> str:
    return _("with guesses") if source != "none" else _("without")
