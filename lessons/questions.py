"""A question of a lesson: what is asked, what is right, and which wrong answers meet a card."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from lessons.expressions import Expression, ExpressionError, Value
from lessons.structure import Block

Kind = Literal["number"]

_GIVEN = re.compile(r"([a-z][a-z_]*)\s*=\s*(\d+)")
_NEAR = re.compile(r"(.+?)\s*->\s*([a-z0-9-]+)")

LARGEST = 100_000
"""The largest answer that a number box accepts unless the lesson says otherwise."""


@dataclass(frozen=True)
class Near:
    """A wrong belief as a number, and the card that answers it."""

    value: Expression
    card: str


@dataclass(frozen=True)
class Question:
    """A `:::predict` or `:::check` block, read."""

    id: str
    kind: Kind
    answer: Expression
    near: tuple[Near, ...]
    given: Mapping[str, int]
    """Numbers that the question itself states, by their name in expressions (`check.n`)."""
    smallest: int
    largest: int
    unit: str
    label: str
    right: str
    wrong: str
    text: str

    @classmethod
    def of(cls, block: Block) -> Question:
        """Read a block; raises `ExpressionError` naming the setting that is missing or cannot be read."""
        smallest, largest = _whole(block, "min", 0), _whole(block, "max", LARGEST)
        if smallest >= largest:
            raise ExpressionError(f"min: {smallest} must be below max: {largest}")
        return cls(
            id=block.argument,
            kind=_kind(block),
            answer=Expression.parse(block.value("answer") or ""),
            near=tuple(_near(one) for one in block.values("near")),
            given=dict(_given(one) for one in block.values("given")),
            smallest=smallest,
            largest=largest,
            unit=block.value("unit") or "",
            label=block.value("label") or "",
            right=block.value("right") or "",
            wrong=block.value("wrong") or "",
            text=block.body,
        )

    def is_right(self, answer: int, values: Mapping[str, Value]) -> bool | None:
        """Whether an answer is right for these values; None while the right one is not known."""
        right = self.answer.evaluate({**values, **self.given})
        return None if right is None else answer == right

    def card_for(self, answer: int, values: Mapping[str, Value]) -> str | None:
        """The card of the first wrong belief that leads to this answer; None for a right answer or an unknown belief.

        The right answer never meets a card, even where a wrong belief happens to give the same number.
        """
        if self.is_right(answer, values) is not False:
            return None
        everything = {**values, **self.given}
        return next((near.card for near in self.near if near.value.evaluate(everything) == answer), None)


def _kind(block: Block) -> Kind:
    kind = block.value("kind")
    if kind not in get_args(Kind):
        raise ExpressionError(f"kind: must be one of {', '.join(get_args(Kind))}, not {kind!r}")
    return "number"


def _near(source: str) -> Near:
    match = _NEAR.fullmatch(source)
    if match is None:
        raise ExpressionError(f"near: is written `expression -> card`, not {source!r}")
    return Near(Expression.parse(match[1]), match[2])


def _given(source: str) -> tuple[str, int]:
    match = _GIVEN.fullmatch(source)
    if match is None:
        raise ExpressionError(f"given: is written `name = whole number`, not {source!r}")
    return f"check.{match[1]}", int(match[2])


def _whole(block: Block, key: str, default: int) -> int:
    value = block.value(key)
    if value is None:
        return default
    if not value.isdecimal():
        raise ExpressionError(f"{key}: must be a whole number, not {value!r}")
    return int(value)
