"""Lesson 5 says what the facts say of bytes and operations, and each known belief about speed leads to its card."""

import pytest

from engine.account.presets import HARDWARE
from lessons.catalogue import lessons
from lessons.named_shapes import named_values
from lessons.run_values import values_of
from tests.lessons import reading
from tests.lessons.story_run import DECODE_NS, PREFILL_NS, PROMPT, story_run
from views.instruments.roofline import results

LESSON = next(one for one in lessons() if one.slug == "bytes-and-operations")


def told(name: str, argument: str) -> str:
    """A block as it is read after the recorded run, on a machine that was not measured."""
    published = {f"roofline.{what}": value for what, value in results(story_run(), None).items()}
    return reading.told(LESSON, name, argument, {**named_values(), **values_of(story_run()), **published})


def test_the_right_ratio_is_that_of_the_run_within_a_fifth():
    asked, values = reading.question(LESSON, "predict", "ratio"), values_of(story_run())
    ratio = PREFILL_NS / DECODE_NS
    assert asked.is_right(ratio, values) and asked.is_right(1.19 * ratio, values)
    assert not asked.is_right(1.3 * ratio, values)


@pytest.mark.parametrize(
    ("guess", "card"), [(len(PROMPT), "each-token-costs-the-same"), (1.0, "only-the-read-counts"), (50.0, None)]
)
def test_each_wrong_guess_about_time_meets_the_card_of_its_belief(guess, card):
    assert reading.question(LESSON, "predict", "ratio").card_for(guess, values_of(story_run())) == card


@pytest.mark.parametrize(
    "said",
    [
        "Qwen3.8-27B in bf16 holds 53.8 GB. A decode reads 51.25 GB of them",
        "989 TFLOP/s and 3.35 TB/s",
        "at most 65.4 tokens a second",
        "One token: 1. 8,192 tokens: 8,192.",
        "a model of 7 billion weights at 28 GB, with an intensity of 1,000 for 2,000 tokens and of 0.5 for one",
    ],
)
def test_the_formulas_give_the_numbers_of_the_facts(said):
    assert said in told("depth", "maths")


def test_the_cap_is_bandwidth_over_what_is_read():
    read = 26.896e9 * 2 - 248_320 * 5120 * 2
    assert read == pytest.approx(51.25e9, rel=1e-4) and round(3.35e12 / read, 1) == 65.4


@pytest.mark.parametrize(
    "said", ["288 MiB of state traffic a step (144 MiB read", "6.1 GiB of cache besides", "ridge at 11"]
)
def test_what_a_batch_cannot_share_is_what_the_facts_say(said):
    assert said in told("screen", "presets")


def test_the_state_of_the_27b_takes_longer_than_its_arithmetic_on_an_h100():
    values, h100 = named_values(), HARDWARE["H100 SXM"]
    state = 2 * values["shape.qwen27b.state_bytes"] / h100.bandwidth_bytes_per_s
    assert state > values["shape.qwen27b.operations_per_token"] / h100.flops_per_s


def test_the_runs_own_numbers_stand_in_the_explanation():
    text = told("depth", "concept")
    assert "did 0.99 operations for each byte" in text and "because 8 tokens shared each weight" in text
    assert "ridge at 295 operations a byte" in text and "overhead" in text and "(not known)" not in text


@pytest.mark.parametrize(
    ("answer", "card"), [(989000 / 52, "more-arithmetic"), (989000 / 3350, "the-ridge-itself"), (20.0, None)]
)
def test_each_wrong_cap_meets_the_card_of_its_belief(answer, card):
    check = reading.question(LESSON, "check", "cap")
    assert check.card_for(answer, {}) == card and check.is_right(3350 / 51, {})


def test_of_the_three_only_the_weights_are_shared():
    check = reading.question(LESSON, "check", "shared")
    assert check.is_right("weights", {})
    assert {check.card_for(key, {}) for key in ("cache", "state", "all")} == {"each-brings-its-own"}


def test_every_card_can_be_reached():
    assert reading.cards_reached(LESSON) == reading.cards(LESSON)
