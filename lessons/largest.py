"""The right option of a choice that depends on the run: `state = model.state_bytes, cache = run.kv_bytes`.

The option whose expression has the largest value is right; of equal ones the first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from lessons.expressions import Expression, ExpressionError, Value


@dataclass(frozen=True)
class Largest(Expression):
    """An expression whose value is the key of an option."""

    of: Mapping[str, Expression] = field(default_factory=dict)

    @classmethod
    def read(cls, source: str, options: Iterable[str]) -> Largest:
        """`option = expression` pairs with commas between; raises `ExpressionError`."""
        pairs = [one.partition("=") for one in source.split(",")]
        of = {key.strip(): Expression.parse(expression) for key, _, expression in pairs}
        if unknown := set(of) - set(options):
            raise ExpressionError(f"answer: there is no option {', '.join(sorted(unknown))}")
        if len(of) < max(2, len(pairs)):
            raise ExpressionError("answer: compare at least two options, each once")
        names = dict.fromkeys(name for expression in of.values() for name in expression.names)
        return cls(source, tuple(names), next(iter(of.values()))._tree, of)

    def evaluate(self, values: Mapping[str, Value]) -> Value:
        """The key of the largest, or None if any of the values is not known; raises `ExpressionError`."""
        found = {key: expression.evaluate(values) for key, expression in self.of.items()}
        numbers = {key: value for key, value in found.items() if isinstance(value, int | float)}
        return max(numbers, key=numbers.__getitem__) if len(numbers) == len(found) else None
