"""A lesson as a learner reads it: its texts with their numbers written out."""

from __future__ import annotations

import re
from collections.abc import Mapping

from lessons.expressions import Placeholder, Value, placeholders
from lessons.filters import write
from lessons.questions import Question
from lessons.structure import Lesson


def question(lesson: Lesson, name: str, argument: str) -> Question:
    """A `:::predict` or `:::check` of a lesson."""
    block = lesson.find(name, argument)
    assert block is not None, f"{lesson.slug} has no :::{name} {argument}"
    return Question.of(block)


def told(lesson: Lesson, name: str, argument: str, values: Mapping[str, Value]) -> str:
    """A block's text with its numbers, on one line."""
    block = lesson.find(name, argument)
    assert block is not None, f"{lesson.slug} has no :::{name} {argument}"
    return written(block.body, {**values, **(dict(question(lesson, name, argument).given) if name == "check" else {})})


def written(text: str, values: Mapping[str, Value]) -> str:
    """A text with its numbers, on one line."""
    parts: list[str] = []
    done = 0
    for one in placeholders(text):
        assert isinstance(one, Placeholder)
        parts += [text[done : one.start], write(one.expression.evaluate(values), one.filters)]
        done = one.end
    return re.sub(r"\s+", " ", "".join([*parts, text[done:]]))


def cards_reached(lesson: Lesson) -> set[str]:
    """Every card that some wrong answer leads to."""
    asked = [Question.of(block) for name in ("predict", "check") for block in lesson.named(name)]
    return {near.card for one in asked for near in one.near}


def cards(lesson: Lesson) -> set[str]:
    """Every card there is."""
    return {card.argument for card in lesson.named("card")}
