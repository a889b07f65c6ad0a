"""Lesson 8: a long prompt stalls those who decode; chunks end it, and their price is where the lesson says it is."""

import pytest

from lessons.catalogue import lessons
from tests.lessons import reading
from tests.lessons.instrument_values import published

LESSON = next(one for one in lessons() if one.slug == "when-phases-collide")


@pytest.fixture(scope="module")
def values():
    return published(LESSON)


def test_the_long_step_is_everybodys_gap(values):
    assert values["collision.stall_whole"] == pytest.approx(419e6, rel=0.01)
    asked = reading.question(LESSON, "predict", "stall")
    assert asked.is_right(400, values)
    assert asked.card_for(15, values) == "one-step-is-one-step"
    assert asked.card_for(125_000, values) == "token-by-token"
    assert "The longest gap was 419 ms, where an ordinary one is 15.7 ms" in reading.told(
        LESSON, "compare", "stall", values
    )


def test_the_question_gives_what_the_answer_follows_from(values):
    """8,192 tokens at the stated operations and the stated peak come near the answer."""
    by_hand = 8192 * values["shape.qwen27b.operations_per_token"] / values["preset.h100.peak"] * 1000
    assert reading.question(LESSON, "predict", "stall").is_right(by_hand, values)


def test_chunks_above_the_ridge_cost_hardly_anything_and_small_ones_do(values):
    asked = reading.question(LESSON, "predict", "price")
    assert asked.is_right("little", {})
    assert [asked.card_for(one, {}) for one in ("much", "sooner")] == ["steps-are-not-time", "nothing-comes-early"]
    assert values["collision.chunk"] > values["preset.h100.ridge"] > values["collision.small"]
    assert 1 < values["collision.ttft_ratio"] < 1.05 and values["collision.small_ratio"] > 3
    assert values["collision.stall_chunk"] < values["collision.stall_whole"] / 10


def test_the_real_engine_shows_the_same_with_numbers_of_its_own(values):
    assert values["collision.real_stall_whole"] > 5 * values["collision.real_stall_chunk"]
    assert values["collision.real_small_ttft"] > values["collision.real_ttft_whole"]
    assert values["collision.real_small_stall"] < values["collision.real_stall_chunk"]
    assert values["collision.real_decoders"] == 3, "the text says three"
    assert "(not known)" not in reading.told(LESSON, "screen", "real-answer", values)


@pytest.mark.parametrize(
    ("answer", "card"), [(1, "always-one-pass"), (11, "the-rest"), (13, "extra-step"), (12, None), (99, None)]
)
def test_the_check_counts_whole_and_begun_chunks(answer, card):
    check = reading.question(LESSON, "check", "chunks")
    assert check.is_right(12, {}) and check.card_for(answer, {}) == card


def test_every_card_can_be_reached():
    assert reading.cards_reached(LESSON) == reading.cards(LESSON)


def collided(stall_ms: float, ttft_ms: float, plain_ms: float = 1) -> dict:
    times = {"stall": stall_ms, "ttft": ttft_ms, "plain_gap": plain_ms}
    return {f"collision.own_{name}": ms * 1e6 for name, ms in times.items()}


@pytest.mark.parametrize(
    ("found", "right", "cards"),
    [
        (collided(5, 100), "slow", {"freeze": "the-whole-book-first", "nothing": "a-place-of-its-own"}),
        (collided(95, 100), "freeze", {"slow": "it-did-stop", "nothing": "a-place-of-its-own"}),
        (collided(1.2, 100), "nothing", {"slow": "it-did-stop", "freeze": "the-whole-book-first"}),
    ],
)
def test_what_the_book_does_to_ones_own_reply_is_told_by_what_was_measured(found, right, cards):
    asked = reading.question(LESSON, "predict", "reply")
    assert asked.right_value(found) == right and asked.card_for(right, found) is None
    assert {guess: asked.card_for(guess, found) for guess in cards} == cards


def test_the_kept_measurement_has_longer_gaps_and_no_stop(values):
    asked = reading.question(LESSON, "predict", "reply")
    assert asked.is_right("slow", values)
    text = reading.told(LESSON, "compare", "reply", values)
    assert "The book had 1,500 tokens" in text and "64 tokens at most" in text
