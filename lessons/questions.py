"""A question of a lesson: what is asked, what is right, and which wrong answers meet a card."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, cast, get_args

from lessons.curves import Axes, Curve, Points, gap
from lessons.expressions import Expression, ExpressionError, Value
from lessons.largest import Largest
from lessons.structure import Block

Kind = Literal["number", "choice", "curve"]
Made = Literal["computed", "recorded", "simulated"]
Answer = int | float | str | Points
"""A whole number, a number with decimals, the key of an option, or a curve's value at each of its marks."""
Source = Expression | Curve | str
"""What an answer is computed from; of a choice, the key of an option."""
Right = Value | Points
"""What has been computed from it; None while it is not known."""

_GIVEN = re.compile(r"([a-z][a-z_]*)\s*=\s*(\d+(?:\.\d+)?)")
_NEAR = re.compile(r"(.+?)\s*->\s*([a-z0-9-]+)")
_OPTION = re.compile(r"([a-z][a-z0-9-]*)\s*\|\s*(\S.*)")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_WITHIN = re.compile(r"(\d+(?:\.\d+)?)\s*(%?)")

LARGEST = 100_000
"""The largest answer that a number box accepts unless the lesson says otherwise."""
DRAWN_BY_HAND = 0.1
"""Share of its height by which a sketch may miss the right curve on the mean, unless the lesson says otherwise."""


@dataclass(frozen=True)
class Tolerance:
    """How far from a value an answer still counts as that value: an amount, or a share of the value."""

    amount: float = 0.0
    share: float = 0.0

    def holds(self, answer: float, value: float) -> bool:
        """Whether the answer is near enough."""
        return self.allows(abs(answer - value), abs(value))

    def allows(self, distance: float, whole: float) -> bool:
        """Whether a distance is small enough, a share being one of the whole; a billionth more is let through for what
        decimals lose in binary.
        """
        return distance <= max(self.amount, self.share * whole) * (1 + 1e-9)


@dataclass(frozen=True)
class Near:
    """A wrong belief as a number, a curve, or the key of an option, and the card that answers it."""

    value: Source
    card: str


@dataclass(frozen=True)
class Question:
    """A `:::predict` or `:::check` block, read."""

    id: str
    kind: Kind
    answer: Source
    """What is right; of a choice, the key of the right option, or what tells it for a run (`Largest`)."""
    near: tuple[Near, ...]
    options: Mapping[str, str]
    """Key -> Markdown of each option of a choice, in order; else empty."""
    axes: Axes | None
    """Of a curve, where it is asked for; its values lie between `smallest` and `largest`. None for the others."""
    given: Mapping[str, int | float]
    """Numbers that the question itself states, by their name in expressions (`check.n`)."""
    smallest: int | float
    largest: int | float
    step: int | float
    """Distance of two numbers that the box takes: 1, or less for decimals."""
    tolerance: Tolerance
    """Of a curve, for its mean distance from the right one, and a share is one of the drawing's height."""
    unit: str
    label: str
    outcome: str
    """Words over the right value in a comparison."""
    evidence: Made
    """How a curve that no run gives was made."""
    right: str
    wrong: str
    text: str

    @classmethod
    def of(cls, block: Block) -> Question:
        """Read a block; raises `ExpressionError` naming the setting that is missing or cannot be read."""
        kind = _kind(block)
        options = _options(block) if kind == "choice" else {}
        axes = Axes.read(block.value("at") or "", block.value("along") or "") if kind == "curve" else None
        step = _number(block, "step", 1)
        if step <= 0:
            raise ExpressionError("step: must be above 0")
        smallest, largest = (_number(block, key, default) for key, default in (("min", 0), ("max", LARGEST)))
        if axes is not None and not block.value("max"):
            raise ExpressionError("max: a curve needs the upper end of its drawing")
        if smallest >= largest:
            raise ExpressionError(f"min: {smallest} must be below max: {largest}")
        read = _Reader(options, axes)
        return cls(
            id=block.argument,
            kind=kind,
            answer=read.source(block.value("answer") or "", "answer"),
            near=tuple(read.near(one) for one in block.values("near")),
            options=options,
            axes=axes,
            given=dict(_given(one) for one in block.values("given")),
            smallest=smallest,
            largest=largest,
            step=step,
            tolerance=_tolerance(block, step if axes is None else None),
            unit=block.value("unit") or "",
            label=block.value("label") or "",
            outcome=block.value("outcome") or "",
            evidence=_made(block),
            right=block.value("right") or "",
            wrong=block.value("wrong") or "",
            text=block.body,
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The names that the right answer is computed from; none for a key."""
        return () if isinstance(self.answer, str) else self.answer.names

    @property
    def counted(self) -> str:
        """What the answer counts and its unit, as it stands beside the axis of a curve."""
        return f"{self.label} ({self.unit})" if self.unit else self.label

    def accepts(self, answer: Answer) -> bool:
        """Whether this could be an answer at all: the key of an option, or a number, or one for each mark, within the
        limits.
        """
        if self.kind == "choice" or isinstance(answer, str):
            return answer in self.options
        given = answer if isinstance(answer, tuple) else (answer,)
        expected = len(self.axes.at) if self.axes else None
        fits = len(given) == expected if isinstance(answer, tuple) else expected is None
        return fits and all(self.smallest <= one <= self.largest for one in given)

    def right_value(self, values: Mapping[str, Value]) -> Right:
        """The right answer for these values; None while it is not known."""
        return self._value(self.answer, values)

    def is_right(self, answer: Answer, values: Mapping[str, Value]) -> bool | None:
        """Whether an answer is right for these values; None while the right one is not known."""
        right = self.right_value(values)
        return None if right is None else self.same(answer, right)

    def card_for(self, answer: Answer, values: Mapping[str, Value]) -> str | None:
        """The card of the first wrong belief that leads to this answer; of a curve, of the belief that comes nearest.
        None for a right answer or an unknown belief.

        The right answer never meets a card, even where a wrong belief happens to give the same number.
        """
        if self.is_right(answer, values) is not False:
            return None
        beliefs = [(near.card, self._value(near.value, values)) for near in self.near]
        found = [(card, value) for card, value in beliefs if self.same(answer, value)]
        if isinstance(answer, tuple):
            found.sort(key=lambda one: gap(answer, one[1]) if isinstance(one[1], tuple) else 0)
        return found[0][0] if found else None

    def same(self, answer: Answer, value: Right) -> bool:
        """Whether an answer counts as this value."""
        if isinstance(answer, tuple) and isinstance(value, tuple):
            return self.tolerance.allows(gap(answer, value), self.largest - self.smallest)
        if isinstance(answer, str | tuple) or isinstance(value, str | tuple) or value is None:
            return answer == value
        return self.tolerance.holds(answer, value)

    def _value(self, source: Source, values: Mapping[str, Value]) -> Right:
        return source if isinstance(source, str) else source.evaluate({**values, **self.given})


@dataclass(frozen=True)
class _Reader:
    """How an answer and the beliefs near it are written for this kind of question."""

    options: Mapping[str, str]
    axes: Axes | None

    def source(self, text: str, setting: str) -> Source:
        if self.axes is not None:
            return Curve.read(text, self.axes.at)
        if not self.options:
            return Expression.parse(text)
        if "=" in text:
            return Largest.read(text, self.options)
        if text not in self.options:
            raise ExpressionError(f"{setting}: must be one of the options {', '.join(self.options)}, not {text!r}")
        return text

    def near(self, text: str) -> Near:
        match = _NEAR.fullmatch(text)
        if match is None:
            raise ExpressionError(f"near: is written `expression -> card`, not {text!r}")
        return Near(self.source(match[1], "near"), match[2])


def _kind(block: Block) -> Kind:
    kind = block.value("kind")
    if kind not in get_args(Kind):
        raise ExpressionError(f"kind: must be one of {', '.join(get_args(Kind))}, not {kind!r}")
    return cast(Kind, kind)


def _made(block: Block) -> Made:
    made = block.value("evidence") or "computed"
    if made not in get_args(Made):
        raise ExpressionError(f"evidence: must be one of {', '.join(get_args(Made))}, not {made!r}")
    return cast(Made, made)


def _options(block: Block) -> dict[str, str]:
    found = [(one, _OPTION.fullmatch(one)) for one in block.values("option")]
    for source, match in found:
        if match is None:
            raise ExpressionError(f"option: is written `key | text`, not {source!r}")
    options = {match[1]: match[2] for _, match in found if match}
    if len(options) < max(2, len(found)):
        raise ExpressionError("option: a choice needs at least two, each with a key of its own")
    return options


def _given(source: str) -> tuple[str, int | float]:
    match = _GIVEN.fullmatch(source)
    if match is None:
        raise ExpressionError(f"given: is written `name = number`, not {source!r}")
    return f"check.{match[1]}", _read(match[2])


def _number(block: Block, key: str, default: int) -> int | float:
    value = block.value(key)
    if value is None:
        return default
    if not _NUMBER.fullmatch(value):
        raise ExpressionError(f"{key}: must be a number, not {value!r}")
    return _read(value)


def _tolerance(block: Block, step: float | None) -> Tolerance:
    """As `within:` says; without it a whole number is exact, one with decimals is right to half a step, and a curve
    (which has no `step` here) to a tenth of its height.
    """
    within = block.value("within")
    if within is None:
        return Tolerance(share=DRAWN_BY_HAND) if step is None else Tolerance(0.0 if isinstance(step, int) else step / 2)
    match = _WITHIN.fullmatch(within)
    if match is None:
        raise ExpressionError(f"within: is written `10 %` or as a number, not {within!r}")
    return Tolerance(share=float(match[1]) / 100) if match[2] else Tolerance(float(match[1]))


def _read(text: str) -> int | float:
    return int(text) if text.isdecimal() else float(text)
