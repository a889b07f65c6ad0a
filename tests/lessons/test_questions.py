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


CHOOSE = """:::predict larger
kind: choice
option: state | The state
option: cache | The cache
answer: state
near: cache -> slogan

Which?
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
        ASK.replace("kind: number", "kind: number\nstep: 0"),
        ASK.replace("kind: number", "kind: number\nwithin: about 3"),
        CHOOSE.replace("option: cache | The cache\n", ""),
        CHOOSE.replace("option: cache | The cache", "option: state | Again"),
        CHOOSE.replace("option: cache | The cache", "option: the cache"),
        CHOOSE.replace("answer: state", "answer: neither"),
        CHOOSE.replace("near: cache", "near: neither"),
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


def test_a_choice_is_right_by_its_key_and_a_wrong_one_meets_its_card():
    asked = question(CHOOSE)
    assert dict(asked.options) == {"state": "The state", "cache": "The cache"}
    assert asked.is_right("state", {}) is True and asked.is_right("cache", {}) is False
    assert (asked.card_for("cache", {}), asked.card_for("state", {})) == ("slogan", None)


def decimals(within: str = "") -> Question:
    return question(f":::predict w\nkind: number\nstep: 0.1\n{within}answer: 46 / 3\nnear: 46 -> thrice\n\nq\n:::\n")


@pytest.mark.parametrize(
    ("within", "right", "wrong"),
    [
        ("", [15.3, 15.33], [15.2, 15.5]),
        ("within: 10 %\n", [13.9, 16.8], [13.7, 17.0]),
        ("within: 2\n", [13.4, 17.3], [13.2, 17.5]),
    ],
)
def test_decimals_are_right_to_half_a_step_or_as_near_as_the_question_says(within, right, wrong):
    asked = decimals(within)
    assert all(asked.is_right(answer, {}) for answer in right)
    assert not any(asked.is_right(answer, {}) for answer in wrong)


def test_a_belief_is_met_within_the_same_tolerance():
    assert [decimals("within: 10 %\n").card_for(answer, {}) for answer in (46, 43.0, 30.0)] == [
        "thrice",
        "thrice",
        None,
    ]


def test_only_what_could_be_an_answer_is_accepted_from_an_address():
    number, choice = question(ASK), question(CHOOSE)
    assert number.accepts(500) and not number.accepts(501) and not number.accepts("state")
    assert choice.accepts("cache") and not choice.accepts("neither") and not choice.accepts(1)


def test_while_the_right_answer_is_not_known_nobody_is_wrong():
    asked = question(":::predict x\nkind: number\nanswer: machine.bandwidth\nnear: 3 -> card\n\nq\n:::\n")
    assert asked.is_right(3, {"machine.bandwidth": None}) is None
    assert asked.card_for(3, {"machine.bandwidth": None}) is None


def test_which_option_is_right_may_depend_on_the_run():
    asked = question(CHOOSE.replace("answer: state", "answer: state = model.state_bytes, cache = run.kv_bytes"))
    short, long = values_of(story_run()), values_of(story_run(reply=[" word"] * 400))
    assert asked.right_value(short) == "state" and asked.right_value(long) == "cache"
    assert asked.card_for("cache", short) == "slogan" and asked.card_for("cache", long) is None
    assert set(asked.names) == {"model.state_bytes", "run.kv_bytes"}
    assert asked.right_value({**short, "run.kv_bytes": None}) is None


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("state = 1, house = 2", "no option house"),
        ("state = 1", "at least two"),
        ("state = 1, state = 2", "at least two"),
        ("state = 1, cache = (", "cannot read"),
    ],
)
def test_a_comparison_of_options_that_cannot_be_made_is_refused(answer, why):
    with pytest.raises(ExpressionError, match=why):
        question(CHOOSE.replace("answer: state", f"answer: {answer}"))
