"""A prediction that is drawn: asked for, missing, kept, and shown beside what is right, without a browser."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from lessons import catalogue
from tests.pages.components import charts, flipbook, sketch
from tests.pages.conftest import checked, opened, press, words
from views.attempt_store import Attempt

SLUG = "what-the-model-remembers"
BOX = f"guess-box-{SLUG}-growth"
RIGHT = [384, 484, 584, 684, 784, 884, 984, 1084, 1184]


@pytest.fixture
def lesson(engine, monkeypatch) -> AppTest:
    """Lesson 2 with its first question answered."""
    (path,) = [file for file in catalogue.lesson_files() if file.name.startswith("02-")]
    monkeypatch.setattr(catalogue, "lesson_files", lambda language=catalogue.DEFAULT_LANGUAGE: [path])
    return opened(guess="larger:state")


def draw(page: AppTest, points: object) -> AppTest:
    """What the component in the browser would have told when the form is sent."""
    page.session_state[BOX] = {"points": points}
    return press(page, "That is my guess")


def lines(page: AppTest) -> dict[str, list[float]]:
    """Name -> heights of each line of the comparison."""
    (given,) = [one for one in charts(page) if "You drew" in one["figure"] or "By the formula" in one["figure"]]
    return {trace["name"]: trace["y"] for trace in json.loads(given["figure"])["data"]}


def test_the_question_comes_with_axes_to_draw_on_and_without_the_answer(lesson):
    data: dict[str, Any] = sketch(lesson)
    axes = data["axes"]
    assert axes["at"] == list(range(0, 900, 100)) and (axes["low"], axes["high"], axes["unit"]) == (0, 1400, "KiB")
    assert data["points"] == [None] * 9
    assert "The answer, and why, appears here when you have made your guess." in words(lesson), "no run waits for it"
    assert flipbook(lesson)["reveal"] is True, "the picture is covered only until the guess that its run answers"
    assert "A step, then a slope" not in [one.value for one in lesson.header] and "384" not in json.dumps(axes)


def test_nothing_drawn_or_half_a_line_is_asked_for_in_words_and_half_a_line_stays(lesson):
    page = press(lesson, "That is my guess")
    assert page.error[0].value.startswith("Draw a line first.")
    page = draw(page, [384, 484, 584, None, None, None, None, None, None])
    assert page.error[0].value.startswith("Draw the line on to the last mark.")
    assert sketch(page)["points"][:4] == [384, 484, 584, None]


def test_a_line_like_the_right_one_is_told_so_beside_it_and_kept_in_the_address(lesson):
    page = draw(lesson, [one + 20 for one in RIGHT])
    assert lines(page) == {"You drew": [one + 20 for one in RIGHT], "By the formula": RIGHT}
    assert page.success[-1].value == "You had it."
    assert page.query_params["guess"] == "larger:state,growth:" + "~".join(str(one + 20) for one in RIGHT)
    again = opened(guess=page.query_params["guess"])
    assert lines(again)["You drew"] == [one + 20 for one in RIGHT], "a reload asks nothing again"


def test_a_line_that_begins_at_nothing_meets_its_card(lesson):
    page = draw(lesson, [one - 384 for one in RIGHT])
    assert "“No text, no memory”" in words(page)
    assert [one.value for one in page.success] == ["You had it."], "for the first question alone"


def test_a_line_over_marks_that_the_lesson_has_no_more_counts_as_no_guess(lesson):
    """An answer outlives the lesson that asked for it, and a line of three points cannot stand over nine marks."""
    old = Attempt(SLUG, "growth", (0, 50, 100), None, datetime.now(UTC))
    lesson.session_state["attempts"] = [*lesson.session_state["attempts"], old]
    page = checked(lesson.run())
    assert lines(page) == {"By the formula": RIGHT}


def test_whoever_does_not_draw_sees_the_right_line_alone(lesson):
    page = press(lesson, "Show it")
    assert lines(page) == {"By the formula": RIGHT}


@pytest.mark.parametrize(
    "sent",
    [[9999] * 9, [1, 2, 3], "everything", [float("nan")] * 9, [True] * 9, ["1"] * 9, {"0": 1}],
    ids=["above", "too few", "text", "no number", "truth", "words", "names"],
)
def test_what_no_drawing_sends_is_no_answer(lesson, sent):
    page = draw(lesson, sent)
    assert page.error and "A step, then a slope" not in [one.value for one in page.header]
    checked(page.run())
