"""Numbers in prose: `{{ run.passes - 1 | count }}` is names from a list, arithmetic, and filters. Never `eval`.

An expression is parsed with `ast` and walked: names, numbers, + - * / // % and brackets, nothing else. A value that is
not known (None) makes the whole expression unknown rather than 0.
"""

from __future__ import annotations

import ast
import math
import operator
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from lessons.syntax import expression_tree

Value = int | float | str | None

MAX_LENGTH = 200

_OPERATIONS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_PLACEHOLDER = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)


class ExpressionError(ValueError):
    """An expression that cannot be read or computed; the message is for the lesson's author."""


@dataclass(frozen=True)
class Expression:
    """A parsed expression; `names` are the dotted names that it uses."""

    source: str
    names: tuple[str, ...]
    _tree: ast.expr

    @classmethod
    def parse(cls, source: str) -> Expression:
        """Parse names and arithmetic; raises `ExpressionError` on anything else."""
        source = source.strip()
        if not source:
            raise ExpressionError("the expression is empty")
        if len(source) > MAX_LENGTH:
            raise ExpressionError(f"the expression is longer than {MAX_LENGTH} characters")
        try:
            tree = expression_tree(source).body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise ExpressionError(f"cannot read `{source}`") from None
        return cls(source, tuple(dict.fromkeys(_names(tree, source))), tree)

    @property
    def is_name(self) -> bool:
        """Whether it is one name alone, without arithmetic."""
        return isinstance(self._tree, ast.Name | ast.Attribute)

    def evaluate(self, values: Mapping[str, Value]) -> Value:
        """The value, or None if something that it needs is not known; raises `ExpressionError` for an unknown name."""
        return _evaluate(self._tree, self.source, values)


@dataclass(frozen=True)
class Filter:
    """How a value is written: the filter's name and its words, as in `plural "pass" "passes"`."""

    name: str
    words: tuple[str, ...]


@dataclass(frozen=True)
class Placeholder:
    """One `{{ ... }}` in a text: where it stands, what it computes and how it is written."""

    start: int
    end: int
    expression: Expression
    filters: tuple[Filter, ...]


def placeholders(text: str) -> Iterator[Placeholder | tuple[int, ExpressionError]]:
    """Every placeholder of a text in order; a faulty one comes as its offset and the error."""
    for match in _PLACEHOLDER.finditer(text):
        try:
            yield _placeholder(match)
        except ExpressionError as error:
            yield match.start(), error


def without_placeholders(text: str) -> str:
    """The text with every placeholder blanked out, line breaks and offsets kept."""
    return _PLACEHOLDER.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


def _placeholder(match: re.Match[str]) -> Placeholder:
    source, *filters = match[1].split("|")
    try:
        words = [shlex.split(one) for one in filters]
    except ValueError:
        raise ExpressionError(f"a quotation mark is not closed in `{match[1].strip()}`") from None
    if not all(words):
        raise ExpressionError(f"a filter's name is missing after | in `{match[1].strip()}`")
    parsed = tuple(Filter(name, tuple(rest)) for name, *rest in words)
    return Placeholder(match.start(), match.end(), Expression.parse(source), parsed)


def _names(node: ast.expr, source: str) -> Iterator[str]:
    match node:
        case ast.Constant(value=value) if type(value) in (int, float):
            return
        case ast.Name() | ast.Attribute():
            yield _dotted(node, source)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            yield from _names(operand, source)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATIONS:
            yield from _names(left, source)
            yield from _names(right, source)
        case _:
            raise ExpressionError(f"`{source}` may hold only names, numbers and + - * / // %")


def _dotted(node: ast.expr, source: str) -> str:
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=attribute):
            return f"{_dotted(value, source)}.{attribute}"
    raise ExpressionError(f"`{source}` may hold only names, numbers and + - * / // %")


def _evaluate(node: ast.expr, source: str, values: Mapping[str, Value]) -> Value:
    match node:
        case ast.Constant(value=value):
            return value  # type: ignore[return-value]  # _names has let only int and float through
        case ast.UnaryOp(operand=operand):
            inner = _number(_evaluate(operand, source, values), source)
            return None if inner is None else -inner
        case ast.BinOp(left=left, op=op, right=right):
            first = _number(_evaluate(left, source, values), source)
            second = _number(_evaluate(right, source, values), source)
            return None if first is None or second is None else _apply(op, first, second, source)
    name = _dotted(node, source)
    if name not in values:
        raise ExpressionError(f"unknown name `{name}`")
    return values[name]


def _apply(op: ast.operator, first: float, second: float, source: str) -> float:
    try:
        result = _OPERATIONS[type(op)](first, second)
    except (ZeroDivisionError, OverflowError):
        raise ExpressionError(f"`{source}` divides by zero or grows too large") from None
    if not math.isfinite(result):
        raise ExpressionError(f"`{source}` grows too large")
    return result


def _number(value: Value, source: str) -> int | float | None:
    if isinstance(value, str):
        raise ExpressionError(f"`{source}` computes with a text")
    return value
