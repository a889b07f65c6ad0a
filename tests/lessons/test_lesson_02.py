"""Lesson 2 says what the facts say of cache and state, and each known belief about them leads to its card."""

import pytest

from engine.account import cost
from lessons.catalogue import lessons
from lessons.named_shapes import named_values
from lessons.run_values import values_of
from tests.lessons import reading
from tests.lessons.story_run import story_run

LESSON = next(one for one in lessons() if one.slug == "what-the-model-remembers")

SHAPE = story_run().header.model


def told(name: str, argument: str) -> str:
    """A block as it is read after the recorded run."""
    return reading.told(LESSON, name, argument, {**named_values(), **values_of(story_run())})


def test_after_a_short_prompt_the_state_is_the_larger_one():
    asked = reading.question(LESSON, "predict", "larger")
    values = values_of(story_run())
    assert values["model.state_bytes"] > values["run.kv_bytes"] and asked.is_right("state", values)
    assert asked.card_for("cache", values) == "fixed-is-small" and asked.card_for("state", values) is None


def test_past_the_crossover_the_cache_is_the_larger_one():
    asked = reading.question(LESSON, "predict", "larger")
    values = values_of(story_run(reply=[" word"] * 400))
    assert values["run.positions_held"] > 384 and asked.is_right("cache", values)
    assert asked.card_for("state", values) == "fixed-is-large" and asked.card_for("cache", values) is None


def test_what_happened_is_told_with_the_runs_own_bytes():
    text = told("compare", "larger")
    for said in ("17 tokens were held", "17 KiB of KV cache", "384 KiB of state"):
        assert said in text
    assert "After 17 tokens the sum was 401 KiB" in told("predict", "growth")


def test_the_sum_of_cache_and_state_begins_at_the_state_and_is_straight():
    asked, values = reading.question(LESSON, "predict", "growth"), values_of(story_run())
    right = asked.right_value(values)
    assert right == tuple(384 + n for n in range(0, 900, 100))
    assert right == tuple(
        (cost.recurrent_state_bytes(SHAPE) + cost.kv_bytes(SHAPE, n)) / 1024 for n in range(0, 900, 100)
    )
    text = told("compare", "growth")
    assert "384 KiB of it" in text and "1 KiB of cache" in text and "at 384 tokens" in text


@pytest.mark.parametrize(
    ("drawn", "card"),
    [
        ([0, 100, 200, 300, 400, 500, 600, 700, 800], "starts-at-nothing"),
        ([0, 150, 300, 450, 600, 750, 900, 1050, 1200], "starts-at-nothing"),
        ([400] * 9, "stays-one-size"),
        ([380, 385, 400, 440, 520, 640, 800, 1000, 1250], "grows-faster-and-faster"),
        ([0, 20, 75, 170, 300, 465, 670, 905, 1185], "grows-faster-and-faster"),
        ([1400, 1200, 1000, 800, 600, 400, 200, 100, 0], None),
        ([380, 500, 580, 700, 770, 900, 980, 1100, 1180], None),
    ],
)
def test_each_wrong_line_meets_the_card_of_the_belief_that_it_comes_nearest_to(drawn, card):
    asked, values = reading.question(LESSON, "predict", "growth"), values_of(story_run())
    assert asked.card_for(tuple(drawn), values) == card
    assert asked.is_right(tuple(drawn), values) == (drawn[1] == 500)


@pytest.mark.parametrize(
    "said",
    [
        "| Qwen3.5-4B | 8 + 24 | 32 KiB | 48 MiB | 1,536 tokens |",
        "| Qwen3.8-27B | 16 + 48 | 64 KiB | 144 MiB | 2,304 tokens |",
        "| SmolLM2-135M | 30 + 0 | 22.5 KiB | none | never |",
        "| story model | 2 + 6 | 1 KiB | 384 KiB | 384 tokens |",
        "At 100,000 tokens its cache holds 6.1 GiB, and its state is still 144 MiB",
        "22.5 KiB against 12 KiB",
    ],
)
def test_other_models_keep_what_the_facts_say(said):
    assert said in told("screen", "models")


def test_the_formulas_are_written_out_with_factors_that_give_their_result():
    text = told("depth", "maths")
    assert "2 × 2 × 2 × 64 × 2 = 1,024 bytes" in text and 2 * 2 * 2 * 64 * 2 == 1024
    assert "6 × 4 × 64 × 64 × 4 = 393,216 bytes" in text and 6 * 4 * 64 * 64 * 4 == 393_216
    assert "393,216 ÷ 1,024 = 384 tokens" in text and "54 KiB in this model" in text


@pytest.mark.parametrize(
    ("answer", "card"),
    [
        (144 * 2**20 // (64 * 2 * 4 * 256 * 2), "every-layer-keeps"),
        (144 * 2**20 // (16 * 2 * 24 * 256 * 2), "every-query-head-keeps"),
        (144 * 2**20 // (16 * 4 * 256 * 2), "keys-alone"),
        (1000, None),
    ],
)
def test_each_wrong_crossover_meets_the_card_of_its_belief(answer, card):
    assert reading.question(LESSON, "check", "crossover").card_for(answer, {}) == card


def test_the_check_is_the_27b_of_the_facts():
    check = reading.question(LESSON, "check", "crossover")
    assert check.is_right(2304, {}) and not check.is_right(2349, {}), "the windows are counted apart"


def test_every_card_can_be_reached():
    assert reading.cards_reached(LESSON) == reading.cards(LESSON)
