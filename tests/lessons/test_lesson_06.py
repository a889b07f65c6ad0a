"""Lesson 6 says what the facts say of 4 bits, and each known belief about them leads to its card."""

import pytest

from lessons import fewer_bits
from lessons.catalogue import lessons
from lessons.named_shapes import named_values
from tests.lessons import reading
from views.instruments.bits import results
from views.instruments.texts import format_of
from views.recorded_lesson import RecordedLesson
from views.two_runs import same_question

LESSON = next(one for one in lessons() if one.slug == "fewer-bits")
WEIGHTS = 4_205_751_296


def told(name: str, argument: str) -> str:
    """A block as it is read, with what was measured."""
    published = {f"bits.{what}": value for what, value in results(fewer_bits.measured()).items()}
    return reading.told(LESSON, name, argument, {**named_values(), **published})


@pytest.mark.parametrize(
    ("guess", "card"),
    [
        (2.37, None),
        (2.10, "four-bits-are-four"),
        (16.82, "bits-are-bytes"),
        (8.41, "still-sixteen"),
        (5.0, None),
    ],
)
def test_each_wrong_size_meets_the_card_of_its_belief(guess, card):
    asked = reading.question(LESSON, "predict", "size")
    assert asked.card_for(guess, named_values()) == card
    assert asked.is_right(guess, named_values()) is (guess == 2.37)


@pytest.mark.parametrize("said", ["4.5 bits a weight and 2.37 GB", "instead of 8.41 GB in 16 bits"])
def test_the_2_37_gb_of_the_source_are_derived(said):
    assert said in told("compare", "size")
    assert round(WEIGHTS * 4.5 / 8 / 1e9, 3) == 2.366


def test_other_ways_of_storing_come_to_other_sizes():
    text = told("depth", "concept")
    assert "“2.37 GB a token”" in text and "comes to 2.23 GB, no scale at all to 2.10 GB" in text


def test_the_formulas_give_what_they_say():
    text = told("depth", "maths")
    assert "4,205,751,296 × 4.5 ÷ 8 = 2.366 GB" in text
    assert "groups of 32: 4.5. With groups of 64: 4.25" in text
    assert "every 64: 4.5 again" in text


def test_what_was_measured_is_told_and_nothing_is_missing():
    text = told("screen", "measured")
    assert "(not known)" not in text and "%" in text


def test_what_the_text_says_of_the_measurement_holds():
    found = results(fewer_bits.measured())
    assert found["int8_same"] > 0.97 > found["int4_same"] > 0.8, "8 bits are nearly free, and 4 are not"
    assert found["int4_bytes"] > found["int4_decode"] > 1, "part of a small model's step is overhead"
    assert found["large_bf16_rate"] / found["large_int4_rate"] < 1.25, "the larger shape waits for memory in both"
    assert found["large_int4_decode"] > found["large_int4_prefill"], "a prefill gains less"


def test_what_the_teacher_is_told_of_the_texts_holds():
    story = fewer_bits.of_model("story")
    assert story is not None
    exact, _eight, four = story.formats
    assert any(a != b for a, b in zip(exact.texts, four.texts, strict=True)), "in 4 bits the story departs"


@pytest.mark.parametrize(
    ("answer", "card"),
    [
        (4.0, "four-bits-are-four"),
        (4.25, "zero-forgotten"),
        (32.0, "bits-are-bytes"),
        (36.0, "a-scale-for-each"),
        (7.0, None),
    ],
)
def test_each_wrong_check_meets_the_card_of_its_belief(answer, card):
    check = reading.question(LESSON, "check", "grouped")
    assert check.card_for(answer, {}) == card and check.is_right(4.5, {})


def test_a_decode_gains_the_most():
    check = reading.question(LESSON, "check", "gains")
    assert check.is_right("decode", {})
    assert {check.card_for(key, {}) for key in ("prefill", "alike")} == {"arithmetic-shrinks-too"}


def test_every_card_can_be_reached():
    assert reading.cards_reached(LESSON) == reading.cards(LESSON)


def of_texts(same: int, new: int) -> dict:
    return {"other.same_tokens": same, "run.new_tokens": new}


@pytest.mark.parametrize(
    ("same", "right", "cards"),
    [
        (3, "parts", {"same": "odds-never-move", "parts": None, "broken": "rounded-is-broken"}),
        (39, "parts", {"same": "odds-never-move", "parts": None, "broken": "rounded-is-broken"}),
        (40, "same", {"same": None, "parts": "the-favourite-held", "broken": "rounded-is-broken"}),
    ],
)
def test_whether_the_text_stays_the_same_is_told_by_the_learners_own_two_runs(same, right, cards):
    asked = reading.question(LESSON, "predict", "text")
    assert asked.right_value(of_texts(same, 40)) == right
    assert {guess: asked.card_for(guess, of_texts(same, 40)) for guess in cards} == cards
    assert asked.right_value({"other.same_tokens": None, "run.new_tokens": 40}) is None, "while the second one runs"


def test_the_recordings_are_one_prompt_in_16_and_in_4_bits_and_their_texts_part():
    recorded = RecordedLesson.of(LESSON)
    assert same_question(recorded.run, recorded.other)
    assert (format_of(recorded.run), format_of(recorded.other)) == ("bf16", "int4")
    assert recorded.run.header.device.name == recorded.other.header.device.name
    text = reading.told(LESSON, "compare", "text", recorded.values)
    assert "Of 40 new tokens the first 3 are the same in both" in text
