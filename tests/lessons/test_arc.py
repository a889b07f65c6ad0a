"""Every lesson has the same arc: a question, a guess, a run of one's own, what happened, three depths, a check."""

from __future__ import annotations

import pytest

from lessons import catalogue
from lessons.questions import Question
from lessons.structure import Lesson

COURSE = [*catalogue.lessons(), *catalogue.lessons("es")]
IDS = [f"{one.number}-{one.path.parent.name}" for one in COURSE]


def places(lesson: Lesson, name: str) -> list[int]:
    return [place for place, block in enumerate(lesson.blocks) if block.name == name]


@pytest.mark.parametrize("lesson", COURSE, ids=IDS)
def test_a_lesson_opens_with_its_question_a_box_a_guess_and_a_recording_in_view(lesson):
    assert (lesson.blocks[0].name, lesson.blocks[0].argument) == ("screen", "question")
    (run,) = lesson.named("run")
    led_to = lesson.find("predict", run.value("asks") or "")
    assert led_to is not None and lesson.front.recording
    first_answer = next(place for place in places(lesson, "screen") if lesson.blocks[place].value("after"))
    assert places(lesson, "run")[0] < lesson.blocks.index(led_to) < places(lesson, "flipbook")[0] < first_answer
    assert lesson.blocks[first_answer].value("after") == led_to.argument, "what it asks stays shut until then"


@pytest.mark.parametrize("lesson", COURSE, ids=IDS)
def test_each_guess_is_seen_beside_what_happened_and_every_belief_has_its_card(lesson):
    for block in lesson.named("predict"):
        assert lesson.find("compare", block.argument), block.argument
        assert Question.of(block).near and all(lesson.find("card", near.card) for near in Question.of(block).near)


@pytest.mark.parametrize("lesson", COURSE, ids=IDS)
def test_a_lesson_explains_in_three_depths_checks_itself_and_names_its_sources(lesson):
    depths = [block.argument for block in lesson.named("depth")]
    assert set(depths) == {"concept", "maths", "code"}
    assert any(block.values("source") for block in lesson.named("depth") if block.argument == "code")
    assert lesson.named("check") and lesson.named("notes") and lesson.named("sources")
    assert min(places(lesson, "depth")) < min(places(lesson, "check")) < min(places(lesson, "sources"))


def test_the_course_asks_for_numbers_choices_and_sketched_curves():
    kinds = {Question.of(block).kind for lesson in COURSE for block in lesson.named("predict")}
    assert kinds == {"number", "choice", "curve"}
