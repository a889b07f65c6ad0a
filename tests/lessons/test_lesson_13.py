"""Lesson 13 puts a metaphor to the test: what it says of runs holds, and each expectation that fails has its card."""

import pytest

from lessons.catalogue import lessons, recording
from lessons.questions import Question
from lessons.run_values import values_of
from views.reading_speaking import ReadAndWrote

(LESSON,) = [one for one in lessons() if one.number == 13]
RUN = recording(LESSON.front.recording)
P, N = len(RUN.header.prompt_tokens), LESSON.front.new_tokens
LOOKS = sum(one.start_position for one in RUN.passes if one.phase == "decode")


def question(name: str, argument: str) -> Question:
    block = LESSON.find(name, argument)
    assert block is not None
    return Question.of(block)


def test_the_looks_back_are_what_the_record_says_and_what_the_instrument_counts():
    told = ReadAndWrote.of(RUN)
    assert question("predict", "looks").right_value(values_of(RUN)) == LOOKS and told and told.looks_back == LOOKS


def test_the_first_decode_looked_at_the_prompt_and_the_last_at_all_but_itself():
    assert RUN.passes[1].start_position == P
    assert RUN.passes[-1].start_position == RUN.passes[-1].positions_held - 1


@pytest.mark.parametrize(
    ("guess", "card"),
    [
        (0, "understood-and-done"),
        (P, "understood-and-done"),
        (N - 1, "only-the-last-word"),
        (N, "only-the-last-word"),
        ((N - 1) * P, "the-prompt-alone"),
        (LOOKS, None),
        (1000, None),
    ],
)
def test_each_expectation_about_looking_back_meets_its_card(guess, card):
    assert question("predict", "looks").card_for(guess, values_of(RUN)) == card


def test_more_than_one_word_was_possible_at_the_end_of_the_prefill():
    odds = [one.model for one in RUN.passes[0].emitted[0].candidates]
    assert odds[0] < 0.9 and len([one for one in odds if one > 0.01]) > 2


def test_the_numbers_of_the_source_are_recomputed_and_corrected():
    fp32, bf16 = 4, 2
    assert 7 * fp32 == 28 and 2 * 2000 / fp32 == 1000 and 2 / fp32 == 0.5
    assert 2 * 2000 / bf16 == 2000 and 2 / bf16 == 1
    check = question("check", "million")
    assert check.is_right(100 - 1, {})
    assert [check.card_for(one, {}) for one in (100, 2100, 2099)] == [
        "the-first-is-free", "the-prompt-word-by-word", "the-prompt-word-by-word",
    ]  # fmt: skip


def test_of_the_four_sentences_only_the_order_holds():
    holds = question("check", "holds")
    assert holds.is_right("order", {})
    assert [holds.card_for(one, {}) for one in ("whole", "plan", "process")] == [
        "the-whole-at-once", "the-finished-thought", "two-programs",
    ]  # fmt: skip


def test_every_card_can_be_reached():
    reachable = {
        near.card for name in ("predict", "check") for block in LESSON.named(name) for near in Question.of(block).near
    }
    assert reachable == {card.argument for card in LESSON.named("card")}
