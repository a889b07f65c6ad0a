"""A question of a lesson: what is asked, what is right, and which wrong answers meet a card."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from lessons.expressions import Expression, ExpressionError, Value
from lessons.largest import Largest
from lessons.structure import Block

Kind = Literal["number", "choice"]
Answer = int | float | str
"""A whole number, a number with decimals, or the key of an option."""

_GIVEN = re.compile(r"([a-z][a-z_]*)\s*=\s*(\d+(?:\.\d+)?)")
_NEAR = re.compile(r"(.+?)\s*->\s*([a-z0-9-]+)")
_OPTION = re.compile(r"([a-z][a-z0-9-]*)\s*\|\s*(\S.*)")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_WITHIN = re.compile(r"(\d+(?:\.\d+)?)\s*(%?)")

LARGEST = 100_000
"""The largest answer that a number box accepts unless the lesson says otherwise."""


@dataclass(frozen=True)
class Tolerance:
    """How far from a value an answer still counts as that value: an amount, or a share of the value."""

    amount: float = 0.0
    share: float = 0.0

    def holds(self, answer: float, value: float) -> bool:
        """Whether the answer is near enough; a billionth more is let through for what decimals lose in binary."""
        allowed = max(self.amount, self.share * abs(value))
        return abs(answer - value) <= allowed * (1 + 1e-9)


@dataclass(frozen=True)
class Near:
    """A wrong belief as a number, or as the key of an option, and the card that answers it."""

    value: Expression | str
    card: str


@dataclass(frozen=True)
class Question:
    """A `:::predict` or `:::check` block, read."""

    id: str
    kind: Kind
    answer: Expression | str
    """What is right; of a choice, the key of the right option, or what tells it for a run (`Largest`)."""
    near: tuple[Near, ...]
    options: Mapping[str, str]
    """Key -> Markdown of each option of a choice, in order; empty for a number."""
    given: Mapping[str, int | float]
    """Numbers that the question itself states, by their name in expressions (`check.n`)."""
    smallest: int | float
    largest: int | float
    step: int | float
    """Distance of two numbers that the box takes: 1, or less for decimals."""
    tolerance: Tolerance
    unit: str
    label: str
    outcome: str
    """Words over the right value in a comparison."""
    right: str
    wrong: str
    text: str

    @classmethod
    def of(cls, block: Block) -> Question:
        """Read a block; raises `ExpressionError` naming the setting that is missing or cannot be read."""
        kind = _kind(block)
        options = _options(block) if kind == "choice" else {}
        step = _number(block, "step", 1)
        if step <= 0:
            raise ExpressionError("step: must be above 0")
        smallest, largest = (_number(block, key, default) for key, default in (("min", 0), ("max", LARGEST)))
        if smallest >= largest:
            raise ExpressionError(f"min: {smallest} must be below max: {largest}")
        return cls(
            id=block.argument,
            kind=kind,
            answer=_valued(block.value("answer") or "", options, kind, "answer"),
            near=tuple(_near(one, options, kind) for one in block.values("near")),
            options=options,
            given=dict(_given(one) for one in block.values("given")),
            smallest=smallest,
            largest=largest,
            step=step,
            tolerance=_tolerance(block, step),
            unit=block.value("unit") or "",
            label=block.value("label") or "",
            outcome=block.value("outcome") or "",
            right=block.value("right") or "",
            wrong=block.value("wrong") or "",
            text=block.body,
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The names that the right answer is computed from; none for a key."""
        return () if isinstance(self.answer, str) else self.answer.names

    def accepts(self, answer: Answer) -> bool:
        """Whether this could be an answer at all: the key of an option, or a number within the limits."""
        if self.kind == "choice" or isinstance(answer, str):
            return answer in self.options
        return self.smallest <= answer <= self.largest

    def right_value(self, values: Mapping[str, Value]) -> Value:
        """The right answer for these values; None while it is not known."""
        return self._value(self.answer, values)

    def is_right(self, answer: Answer, values: Mapping[str, Value]) -> bool | None:
        """Whether an answer is right for these values; None while the right one is not known."""
        right = self.right_value(values)
        return None if right is None else self._same(answer, right)

    def card_for(self, answer: Answer, values: Mapping[str, Value]) -> str | None:
        """The card of the first wrong belief that leads to this answer; None for a right answer or an unknown belief.

        The right answer never meets a card, even where a wrong belief happens to give the same number.
        """
        if self.is_right(answer, values) is not False:
            return None
        return next((near.card for near in self.near if self._same(answer, self._value(near.value, values))), None)

    def _value(self, source: Expression | str, values: Mapping[str, Value]) -> Value:
        return source if isinstance(source, str) else source.evaluate({**values, **self.given})

    def _same(self, answer: Answer, value: Value) -> bool:
        if isinstance(answer, str) or isinstance(value, str) or value is None:
            return answer == value
        return self.tolerance.holds(answer, value)


def _kind(block: Block) -> Kind:
    kind = block.value("kind")
    if kind not in get_args(Kind):
        raise ExpressionError(f"kind: must be one of {', '.join(get_args(Kind))}, not {kind!r}")
    return "choice" if kind == "choice" else "number"


def _options(block: Block) -> dict[str, str]:
    found = [(one, _OPTION.fullmatch(one)) for one in block.values("option")]
    for source, match in found:
        if match is None:
            raise ExpressionError(f"option: is written `key | text`, not {source!r}")
    options = {match[1]: match[2] for _, match in found if match}
    if len(options) < max(2, len(found)):
        raise ExpressionError("option: a choice needs at least two, each with a key of its own")
    return options


def _valued(source: str, options: Mapping[str, str], kind: Kind, setting: str) -> Expression | str:
    if kind == "number":
        return Expression.parse(source)
    if "=" in source:
        return Largest.read(source, options)
    if source not in options:
        raise ExpressionError(f"{setting}: must be one of the options {', '.join(options)}, not {source!r}")
    return source


def _near(source: str, options: Mapping[str, str], kind: Kind) -> Near:
    match = _NEAR.fullmatch(source)
    if match is None:
        raise ExpressionError(f"near: is written `expression -> card`, not {source!r}")
    return Near(_valued(match[1], options, kind, "near"), match[2])


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


def _tolerance(block: Block, step: float) -> Tolerance:
    """As `within:` says; without it a whole number is exact, and one with decimals is right to half a step."""
    within = block.value("within")
    if within is None:
        return Tolerance(0.0 if isinstance(step, int) else step / 2)
    match = _WITHIN.fullmatch(within)
    if match is None:
        raise ExpressionError(f"within: is written `10 %` or as a number, not {within!r}")
    return Tolerance(share=float(match[1]) / 100) if match[2] else Tolerance(float(match[1]))


def _read(text: str) -> int | float:
    return int(text) if text.isdecimal() else float(text)
