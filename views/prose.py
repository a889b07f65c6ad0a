"""A lesson's prose with its numbers: every `{{ expression | filter }}` computed from the run on the page."""

from __future__ import annotations

from collections.abc import Mapping

from lessons.expressions import ExpressionError, Placeholder, Value, placeholders
from lessons.filters import UNKNOWN, write
from views.safe_text import code_span, token_label


def filled(text: str, values: Mapping[str, Value]) -> str:
    """Markdown with its placeholders written out; texts of the run are shown literally, what is not known says so."""
    parts: list[str] = []
    done = 0
    for found in placeholders(text):
        if isinstance(found, Placeholder):
            parts += [text[done : found.start], _written(found, values)]
            done = found.end
    return "".join([*parts, text[done:]])


def _written(found: Placeholder, values: Mapping[str, Value]) -> str:
    try:
        value = found.expression.evaluate(values)
        return code_span(token_label(value)) if isinstance(value, str) else write(value, found.filters)
    except ExpressionError:
        # The checker names such a fault to the author; a learner sees that the number is missing.
        return UNKNOWN
