"""Lesson 11 as a learner goes through it after its first question: one guess wrong, one right, sharing, both checks."""

import pytest

from lessons import catalogue
from tests.pages.conftest import checked, opened, press, words


@pytest.fixture
def lesson(monkeypatch):
    (path,) = [file for file in catalogue.lesson_files() if file.name.startswith("11-")]
    monkeypatch.setattr(catalogue, "lesson_files", lambda language=catalogue.DEFAULT_LANGUAGE: [path])
    return opened(guess="pages:2")


def headers(page) -> list[str]:
    return [one.value for one in page.header]


def test_a_learner_goes_from_the_question_to_the_checks(engine, lesson):
    page = lesson
    assert page.title[0].value == "Pages and tiles"
    assert headers(page) == ["Page by page", "Many chats at once"], "the first question was answered by the recording"
    assert "17 positions were held" in words(page)
    assert "room for 2,048 positions, in pages of 16" in words(page)
    page.number_input[0].set_value(13)
    page = press(page, "That is my guess")
    said = words(page)
    assert "“Pages are filled to the last place”" in said
    assert "12 chats run in 120 of 128 pages, and 2 wait for room." in said
    assert "In the picture: 1,800 positions and 120 empty places for 12 chats." in said
    assert "Read once for many" not in headers(page), "the second guess is still to be made"

    next(one for one in page.number_input if one.label == "Same first tokens").set_value(96)
    page = checked(page.run())
    assert "14 chats run, and sharing saves 78 pages" in words(page), "drawn again with the picture, alone"
    page = checked(page.run())

    page.radio[0].set_value("bytes")
    page = press(page, "That is my guess")
    said = words(page)
    assert "Read once for many" in headers(page) and "“The same keys, so the same reads”" not in said
    assert "Over 512 tokens, one layer moves 131.1 MiB if each query reads its keys for itself" in said
    assert "def _attention_prefill(" in said and "def append(" in said
    assert engine.asked == [], "no further run is needed"


def test_a_slider_moved_redraws_the_turn_and_keeps_the_guesses(engine, lesson):
    page = lesson
    page.number_input[0].set_value(12)
    page = press(page, "That is my guess")
    page.radio[0].set_value("nothing")
    page = press(page, "That is my guess")
    assert "“The same keys, so the same reads”" in words(page)
    page.slider[0].set_value(1)
    page = checked(page.run())
    assert "**Program 1 of 8** holds the queries 0 to 63." in words(page)
    assert "“The same keys, so the same reads”" in words(page)
