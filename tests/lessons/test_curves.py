"""A curve as an answer: read from the lesson, judged by its mean distance, and led to the belief that is nearest."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessons.curves import Points
from lessons.expressions import ExpressionError
from lessons.parse import parse_lesson
from lessons.questions import Question

DRAW = """:::predict growth
kind: curve
label: Kept
unit: KiB
along: tokens held
at: 0, 50, 100
max: 200
answer: run.base + x
near: x -> from-nothing
near: run.base -> flat

Draw it.
:::
"""
VALUES = {"run.base": 40}
heights = st.tuples(*[st.integers(0, 200)] * 3)


def question(text: str) -> Question:
    return Question.of(parse_lesson(text, Path("01-x.md")).blocks[0])


def test_an_expression_of_x_gives_a_value_at_each_mark():
    asked = question(DRAW)
    assert asked.right_value(VALUES) == (40, 90, 140)
    assert asked.names == ("run.base",), "x is no name that a lesson must know"
    assert asked.right_value({"run.base": None}) is None and asked.is_right((0, 0, 0), {"run.base": None}) is None


def test_as_many_expressions_as_marks_give_one_value_each():
    asked = question(DRAW.replace("answer: run.base + x", "answer: 100, run.base * 2, x / 100"))
    assert asked.right_value(VALUES) == (100, 80, 1)


def test_a_sketch_is_right_within_a_tenth_of_the_height_on_the_mean():
    asked = question(DRAW)
    assert asked.is_right((60, 110, 160), VALUES) is True, "20 of 200 everywhere"
    assert asked.is_right((40, 90, 200), VALUES) is True, "60 at one mark is 20 on the mean"
    assert asked.is_right((61, 111, 161), VALUES) is False
    exact = question(DRAW.replace("max: 200", "max: 200\nwithin: 5"))
    assert exact.is_right((45, 95, 145), VALUES) is True and exact.is_right((46, 96, 146), VALUES) is False


def test_a_wrong_sketch_meets_the_belief_that_it_comes_nearest_to_and_not_the_first_that_fits():
    asked = question(DRAW)
    met = {
        sketch: asked.card_for(sketch, VALUES) for sketch in [(0, 50, 100), (20, 45, 66), (200, 150, 0), (40, 90, 140)]
    }
    assert met == {
        (0, 50, 100): "from-nothing", (20, 45, 66): "flat", (200, 150, 0): None, (40, 90, 140): None,
    }  # fmt: skip


@given(heights)
def test_the_right_sketch_never_meets_a_card(sketch: Points):
    asked = question(DRAW)
    assert asked.accepts(sketch)
    assert not (asked.is_right(sketch, VALUES) and asked.card_for(sketch, VALUES))


@pytest.mark.parametrize("other", [(0, 50), (0, 50, 100, 150), (0, 50, 201), (-1, 50, 100), 50, 50.5, "flat"])
def test_what_is_no_curve_on_these_axes_is_not_taken(other):
    assert not question(DRAW).accepts(other)


def test_a_number_is_not_answered_by_a_curve():
    asked = question(":::predict n\nkind: number\nanswer: 4\n\nq\n:::\n")
    assert asked.accepts(4) and not asked.accepts((4,)) and not asked.accepts((1, 2, 3))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("at: 0, 50, 100", "at: 0, 50, many", "at: is written"),
        ("at: 0, 50, 100", "at: 0, 50", "3 to 12 marks"),
        ("at: 0, 50, 100", "at: 0, 100, 50", "must go up"),
        ("at: 0, 50, 100\n", "", "at: is written"),
        ("along: tokens held\n", "", "along:"),
        ("max: 200\n", "", "max:"),
        ("answer: run.base + x", "answer: 1, 2", "3 of them, not 2"),
        ("answer: run.base + x", "answer: run.base +", "cannot read"),
        ("near: x -> from-nothing", "near: x", "near: is written"),
        ("unit: KiB", "evidence: guessed", "evidence: must be one of"),
    ],
)
def test_a_curve_that_cannot_be_read_says_which_setting(old, new, said):
    with pytest.raises(ExpressionError, match=said):
        question(DRAW.replace(old, new))
