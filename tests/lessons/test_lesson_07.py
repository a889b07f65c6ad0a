"""Lesson 7: a step shared by eight gains less than eight and more than one; static batches leave chairs empty."""

import pytest

from engine.account import cost
from engine.account.presets import HARDWARE
from engine.account.step_time import Roofline, Work
from lessons.catalogue import lessons
from lessons.named_shapes import named_values, shape_of
from tests.lessons import reading
from tests.lessons.instrument_values import published

LESSON = next(one for one in lessons() if one.slug == "sharing-a-read")


@pytest.fixture(scope="module")
def values():
    return published(LESSON)


def test_eight_at_once_give_more_than_one_alone_and_each_gets_less(values):
    assert 1.5 < values["batch_table.gain"] < 8 and 1 / 8 < values["batch_table.own_share"] < 1
    text = reading.told(LESSON, "compare", "gain", values)
    assert "With 8 at once" in text and "times as many" in text


@pytest.mark.parametrize(("guess", "card"), [(1, "cake"), (8, "free-seats"), (9.5, "free-seats"), (50, None)])
def test_the_two_simple_beliefs_about_sharing_meet_their_cards(values, guess, card):
    assert reading.question(LESSON, "predict", "gain").card_for(guess, values) == card


def test_decode_gains_and_a_long_prompt_does_not():
    """Source 004 of the seeds has it the wrong way round (facts.md)."""
    clock = Roofline(shape_of("qwen27b"), HARDWARE["H100 SXM"])

    def gain(work: Work) -> float:
        return 8 * clock.ns([work]) / clock.ns([work] * 8)

    assert gain(Work(500, 0)) == pytest.approx(1, abs=0.01) and gain(Work(1, 500)) > 7
    assert gain(Work(8, 0)) > 7, "a prompt of a few tokens gains as a decode does"
    asked = reading.question(LESSON, "predict", "who-gains")
    assert asked.is_right("decode", {})
    assert [asked.card_for(one, {}) for one in ("prefill", "both")] == ["prefill-gains", "both-alike"]


def test_the_formulas_say_what_the_cost_model_says():
    """Least times of a step with 1, 8 and 64 requests of 500 positions; the text leaves the newest write out."""
    clock = Roofline(shape_of("qwen27b"), HARDWARE["H100 SXM"])
    text = reading.told(LESSON, "depth", "maths", published(LESSON, until=0))
    for n, said in ((1, "15.4 ms"), (8, "16.1 ms"), (64, "21.7 ms")):
        assert f"at least {said} a step" in text
        assert clock.ns([Work(1, 499)] * n) / 1e6 == pytest.approx(float(said.split()[0]), rel=0.01)


FAR = (1, 16, 32, 48, 64, 80, 96)


def test_the_line_of_many_requests_is_what_the_cost_model_says_and_memory_bound_all_along():
    clock = Roofline(shape_of("qwen27b"), HARDWARE["H100 SXM"])
    asked = reading.question(LESSON, "predict", "far")
    right = asked.right_value(named_values())
    assert isinstance(right, tuple) and asked.axes.at == FAR
    for n, rate in zip(FAR, right, strict=True):
        step = [Work(1, 499)] * n
        assert rate == pytest.approx(n * 1e9 / clock.ns(step), rel=0.01) and clock.bound(step) == "memory"
    text = reading.told(LESSON, "compare", "far", named_values())
    for said in ("With 16 requests 947 tokens", "given 1,039", "it is 3,857 instead of 6,234", "335 MB", "at most 140"):
        assert said in text


def test_ninety_six_requests_fit_beside_the_weights():
    shape, machine = shape_of("qwen27b"), HARDWARE["H100 SXM"]
    kept = cost.kv_bytes(shape, 500) + cost.recurrent_state_bytes(shape) + cost.window_bytes(shape)
    fit = (machine.memory_bytes - shape.weight_bytes) // kept
    assert fit == 140 > 96


@pytest.mark.parametrize(
    ("line", "card"),
    [
        ([65 * n for n in FAR], "no-end"),
        ([60 * n for n in FAR], "no-end"),
        ([65] * 7, "cake"),
        ([0, 6000, 0, 6000, 0, 6000, 0], None),
    ],
)
def test_a_straight_line_and_a_flat_one_meet_their_cards(line, card):
    asked = reading.question(LESSON, "predict", "far")
    assert asked.card_for(tuple(line), named_values()) == card
    assert asked.is_right((100, 1000, 1700, 2500, 3000, 3400, 3700), named_values())


def test_the_static_batch_takes_half_as_long_again(values):
    asked = reading.question(LESSON, "predict", "static")
    assert values["batch_table.time_ratio"] == pytest.approx(1.52, abs=0.01)
    assert asked.is_right(1.5, values) and asked.card_for(1, values) == "full-is-full"
    assert "Static took 4.13 s, continuous 2.71 s" in reading.told(LESSON, "compare", "static", values)


def test_a_step_reads_the_weights_once():
    check = reading.question(LESSON, "check", "reads")
    assert check.is_right(1, {}) and check.card_for(16, {}) == check.card_for(17, {}) == "one-read-each"


def test_every_card_can_be_reached():
    assert reading.cards_reached(LESSON) == reading.cards(LESSON)
