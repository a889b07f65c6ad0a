"""Lesson 9: what a hand-over moves, what two pools buy, and the three ways to lose that the text names."""

import pytest

from engine.account import cost
from lessons.catalogue import lessons
from lessons.named_shapes import named_values, shape_of
from lessons.run_values import values_of
from tests.lessons import reading
from tests.lessons.instrument_values import published
from tests.lessons.story_run import PROMPT, story_run
from views.pools import Chosen, moved_bytes, results, served
from views.virtual_clock import play

LESSON = next(one for one in lessons() if one.slug == "two-pools")


@pytest.fixture(scope="module")
def values():
    return published(LESSON, until=1)


@pytest.fixture(scope="module")
def on_the_cable():
    return published(LESSON)


def outcome(**chosen):
    return results({a: served([play(one) for one in them]) for a, them in Chosen(**chosen).setups().items()})


def test_what_moves_is_cache_and_state_as_in_the_facts():
    """64 KiB a token and 144 MiB of state (facts.md), and the windows; never the weights."""
    shape = shape_of("qwen27b")
    moved = 2000 * 64 * 1024 + 144 * 2**20 + cost.window_bytes(shape)
    assert moved_bytes(shape, 2000) == moved
    asked = reading.question(LESSON, "predict", "luggage")
    assert asked.right_value(named_values()) == pytest.approx(moved / 1e6)
    wrong = {131: "only-the-cache", 51_000: "the-model-moves", 54_000: "the-model-moves"}
    assert {guess: asked.card_for(guess, named_values()) for guess in wrong} == wrong


def test_the_text_tells_bytes_and_times():
    text = reading.told(LESSON, "compare", "luggage", named_values())
    for said in ("131 MB, the state 151 MB", "at 450 GB/s, it takes 633 µs", "91.2 ms: six times as long as a token"):
        assert said in text
    times = 91.2 / 15.3
    assert round(times) == 6


def test_apart_the_gaps_are_even_and_the_rate_is_what_it_was(values):
    assert values["two_pools.split_gap_p99"] < 1.1 * values["two_pools.split_gap"]
    assert values["two_pools.split_gap_p99"] < values["two_pools.chunks_gap_p99"] < values["two_pools.whole_gap_p99"]
    assert values["two_pools.split_rate"] == pytest.approx(values["two_pools.chunks_rate"], rel=0.05)
    assert values["two_pools.split_ttft_p99"] > 1.5 * values["two_pools.chunks_ttft_p99"]
    asked = reading.question(LESSON, "predict", "better")
    assert asked.is_right("tails", {})
    assert [asked.card_for(one, {}) for one in ("rate", "first")] == ["specialists", "one-door"]


def test_over_a_slow_link_it_is_worse_than_chunks(on_the_cable):
    assert on_the_cable["two_pools.split_gap_worst"] > 3 * on_the_cable["two_pools.chunks_gap_worst"]
    assert "Now the second token comes 122 ms after the first" in reading.told(
        LESSON, "screen", "loses-answer", on_the_cable
    )


def test_with_four_places_read_prompts_wait_for_the_writer():
    found = outcome(at_once=4)
    assert found["longest_wait"] > 1e9 and found["split_rate"] < 0.8 * found["chunks_rate"]


def test_at_eight_a_second_the_reader_is_full():
    found = outcome(rate=8.0)
    assert found["split_ttft"] > 3 * found["chunks_ttft"] and found["split_rate"] < found["chunks_rate"]


@pytest.mark.parametrize(("answer", "card"), [(128, "only-the-cache"), (4096 * 48 + 128, "state-each-time")])
def test_the_check_adds_what_grows_to_what_does_not(answer, card):
    check = reading.question(LESSON, "check", "grows")
    assert check.is_right(128 + 48, named_values()), "32 KiB x 4,096 tokens and 48 MiB (facts.md)"
    assert check.accepts(answer)
    assert check.card_for(answer, named_values()) == card


def test_every_card_can_be_reached():
    assert reading.cards_reached(LESSON) == reading.cards(LESSON)


def test_the_learners_own_prompt_leaves_cache_state_and_windows_behind():
    values = {**named_values(), **values_of(story_run())}
    shape, n = story_run().header.model, len(PROMPT)
    kept = cost.kv_bytes(shape, n) + cost.recurrent_state_bytes(shape) + cost.window_bytes(shape)
    assert kept == moved_bytes(shape, n)
    asked = reading.question(LESSON, "predict", "mine")
    assert asked.right_value(values) == kept / 1024 and asked.is_right(round(kept / 1024), values)
    beliefs = {8: "only-the-cache", 15_476: "the-model-moves", 8 * (1 + 384): "state-each-time", 100: None}
    assert {guess: asked.card_for(guess, values) for guess in beliefs} == beliefs
    text = reading.told(LESSON, "compare", "mine", values)
    assert "held 8 KiB of cache, 384 KiB of state and 27 KiB of windows" in text
