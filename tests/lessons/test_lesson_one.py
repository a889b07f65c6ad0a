"""Lesson 1 says what the facts say: its answers follow from the run, and each known belief leads to its card."""

import pytest

from lessons.catalogue import lessons
from lessons.questions import Question
from lessons.run_values import values_of
from tests.lessons.story_run import PROMPT, REPLY, story_run

LESSON = lessons()[0]
P, N = len(PROMPT), len(REPLY)


def question(name: str, argument: str) -> Question:
    block = LESSON.find(name, argument)
    assert block is not None
    return Question.of(block)


@pytest.mark.parametrize("n", range(1, N + 1))
def test_the_right_number_of_passes_is_one_and_one_for_each_token_after_the_first(n):
    values = values_of(story_run(reply=REPLY[:n]))
    assert question("predict", "passes").is_right(1 + (n - 1), values)


@pytest.mark.parametrize(
    ("guess", "card"),
    [
        (N + 1, "prefill-as-an-extra"),
        (P + N, "one-token-at-a-time"),
        (P + N - 1, "one-token-at-a-time"),
        (N - 1, "reading-left-out"),
        (2, "one-to-read-one-to-write"),
        (1, "all-at-once"),
        (N, None),
        (77, None),
    ],
)
def test_each_wrong_guess_about_passes_meets_the_card_of_its_belief(guess, card):
    assert question("predict", "passes").card_for(guess, values_of(story_run())) == card


def test_the_check_has_one_right_answer_and_knows_its_wrong_ones():
    check = question("check", "decode-passes")
    n, p = check.given["check.n"], check.given["check.p"]
    assert check.is_right(n - 1, {})
    assert [check.card_for(answer, {}) for answer in (n, p + n, p + n - 1)] == [
        "silent-prefill", "one-token-at-a-time", "one-token-at-a-time",
    ]  # fmt: skip


def test_every_card_can_be_reached():
    reachable = {
        near.card for name in ("predict", "check") for block in LESSON.named(name) for near in Question.of(block).near
    }
    assert reachable == {card.argument for card in LESSON.named("card")}


def test_the_lesson_runs_on_the_prompt_of_the_facts():
    assert (LESSON.front.prompt, LESSON.front.new_tokens) == ("Once upon a time, there was a", 10)
