"""A curve that a question asks for: the axes that it is drawn on, and where it goes at each mark.

    at: 0, 100, 200, 300
    along: tokens held
    answer: model.state_bytes / 1024 + x * model.kv_bytes_per_position / 1024

One expression of `x` gives the value at every mark; as many expressions as there are marks, with commas between, give
one value each.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from lessons.expressions import Expression, ExpressionError, Value

Points = tuple[float, ...]
"""A value for each mark, from left to right."""

LEAST_MARKS, MOST_MARKS = 3, 12
X = "x"
"""The name under which an expression finds the place of a mark."""
_MARK = re.compile(r"\d+(?:\.\d+)?")


@dataclass(frozen=True)
class Axes:
    """Where a curve is asked for, and the words under the drawing."""

    at: Points
    """The places of the marks, ascending."""
    along: str

    @classmethod
    def read(cls, at: str, along: str) -> Axes:
        """Read the two settings; raises `ExpressionError`."""
        marks = [one.strip() for one in at.split(",")]
        if not all(_MARK.fullmatch(one) for one in marks):
            raise ExpressionError(f"at: is written `0, 100, 200`, not {at!r}")
        places = tuple(int(one) if one.isdecimal() else float(one) for one in marks)
        if not LEAST_MARKS <= len(places) <= MOST_MARKS:
            raise ExpressionError(f"at: a curve has {LEAST_MARKS} to {MOST_MARKS} marks, not {len(places)}")
        if any(left >= right for left, right in pairwise(places)):
            raise ExpressionError("at: the marks must go up from left to right")
        if not along:
            raise ExpressionError("along: a curve needs words for what the marks count")
        return cls(places, along)


@dataclass(frozen=True)
class Curve:
    """A curve as the lesson states it: the right one, or that of a wrong belief."""

    source: str
    at: Points
    parts: tuple[Expression, ...]
    """One for all marks, or one for each."""

    @classmethod
    def read(cls, source: str, at: Points) -> Curve:
        """Read an expression of `x`, or one for each mark; raises `ExpressionError`."""
        parts = tuple(Expression.parse(one) for one in source.split(","))
        if len(parts) not in (1, len(at)):
            raise ExpressionError(f"a curve is one expression of x, or {len(at)} of them, not {len(parts)}")
        return cls(source.strip(), at, parts)

    @property
    def names(self) -> tuple[str, ...]:
        """The names that it is computed from, without `x`."""
        return tuple(dict.fromkeys(name for part in self.parts for name in part.names if name != X))

    def evaluate(self, values: Mapping[str, Value]) -> Points | None:
        """The value at each mark, or None while one is not known; raises `ExpressionError`."""
        each = self.parts if len(self.parts) > 1 else self.parts * len(self.at)
        found = [part.evaluate({**values, X: place}) for part, place in zip(each, self.at, strict=True)]
        numbers = tuple(one for one in found if isinstance(one, int | float))
        return numbers if len(numbers) == len(found) else None


def gap(one: Points, other: Points) -> float:
    """How far two curves lie apart: the mean distance over their marks."""
    return sum(abs(a - b) for a, b in zip(one, other, strict=True)) / len(one)
