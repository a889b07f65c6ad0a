"""A question judges an answer by the run, and knows which belief leads to which wrong number."""

from pathlib import Path

import pytest

from lessons.expressions import ExpressionError
from lessons.parse import parse_lesson
from lessons.questions import Question
from lessons.run_values import values_of
from tests.lessons.story_run import PROMPT, REPLY, story_run

ASK = """:::predict passes
kind: number
min: 1
max: 500
answer: run.passes
near: asked.new_tokens + 1 -> extra
near: asked.prompt_tokens + asked.new_tokens -> one-by-one
near: 1 -> at-once

How many?
:::
"""


def question(text: str) -> Question:
    return Question.of(parse_lesson(text, Path("01-x.md")).blocks[0])


def test_each_wrong_belief_meets_its_own_card_and_the_right_answer_none():
    values = values_of(story_run())
    asked = question(ASK)
    n, p = len(REPLY), len(PROMPT)
    assert asked.is_right(n, values) is True
    assert {guess: asked.card_for(guess, values) for guess in (n, n + 1, p + n, 1, 77)} == {
        n: None, n + 1: "extra", p + n: "one-by-one", 1: "at-once", 77: None,
    }  # fmt: skip


def test_a_right_answer_is_never_called_a_misconception_even_where_the_numbers_coincide():
    values = values_of(story_run(reply=REPLY[:1]))
    assert question(ASK).is_right(1, values) is True
    assert question(ASK).card_for(1, values) is None


def test_given_numbers_are_named_in_the_answer():
    asked = question(":::check c\nkind: number\ngiven: n = 25\nanswer: check.n - 1\nright: y\nwrong: n\n\nq\n:::\n")
    assert asked.given == {"check.n": 25}
    assert asked.is_right(24, {}) is True and asked.is_right(25, {}) is False


@pytest.mark.parametrize(
    "spoilt",
    [
        ASK.replace("kind: number", "kind: essay"),
        ASK.replace("answer: run.passes", "answer: run.passes("),
        ASK.replace("near: 1 -> at-once", "near: 1"),
        ASK.replace("max: 500", "max: many"),
        ASK.replace("max: 500", "max: 1"),
        ASK.replace("min: 1", "given: n is 4"),
    ],
)
def test_a_question_that_cannot_be_read_says_which_setting(spoilt):
    with pytest.raises(ExpressionError):
        question(spoilt)
