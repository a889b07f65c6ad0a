"""Lesson 10: what guesses are worth follows from runs and from law 9, and each known belief has its card."""

import pytest

from lessons.catalogue import lessons, recording
from lessons.questions import Question
from lessons.run_values import values_of
from views.drafting import Drafting, expected_tokens
from views.two_runs import compare_odds

(LESSON,) = [one for one in lessons() if one.number == 10]
FRONT = LESSON.front
RUN, PLAIN = recording(FRONT.recording), recording(FRONT.other_recording)
N = FRONT.new_tokens


def question(name: str, argument: str) -> Question:
    block = LESSON.find(name, argument)
    assert block is not None
    return Question.of(block)


def test_the_recordings_wrote_the_same_text_with_guesses_and_without():
    assert (RUN.header.serving.drafts, PLAIN.header.serving.drafts) == ("prompt_lookup", "none")
    assert RUN.header.serving.n_drafts == 4 and compare_odds(RUN, PLAIN).parted_at is None
    assert len(PLAIN.passes) == N == len(RUN.emissions) > len(RUN.passes)


def test_every_pass_gives_its_right_guesses_and_one_token_more_and_the_next_begins_behind_them():
    for one, later in zip(RUN.passes[1:], RUN.passes[2:], strict=False):
        assert len(one.emitted) == one.accepted + 1
        assert later.start_position == one.positions_held == one.start_position + 1 + one.accepted


def test_the_recording_lies_near_the_formula():
    told = Drafting.of(RUN)
    assert told.judged < told.drafted
    assert told.tokens_per_check == pytest.approx(told.expected_per_check, rel=0.15)


@pytest.mark.parametrize(
    ("guess", "card"),
    [(N, "nothing-held"), (N // 5, "everything-held"), (1, "one-big-guess"), (len(RUN.passes), None), (200, None)],
)
def test_each_wrong_guess_about_passes_meets_the_card_of_its_belief(guess, card):
    assert question("predict", "passes").card_for(guess, values_of(RUN)) == card


def test_where_nothing_repeats_as_many_passes_as_tokens_is_right():
    assert question("predict", "passes").is_right(N, values_of(PLAIN))


@pytest.mark.parametrize(
    ("answer", "card"),
    [
        (3.4, None),
        (3.3, None),
        (4.2, "each-for-itself"),
        (3.2, "without-the-models-own"),
        (5, "all-of-them"),
        (2, None),
    ],
)
def test_four_guesses_of_four_in_five_give_what_law_nine_says(answer, card):
    check = question("check", "expected")
    assert check.right_value({}) == pytest.approx(expected_tokens(0.8, 4))
    assert check.is_right(answer, {}) == (abs(answer - expected_tokens(0.8, 4)) <= 0.1)
    assert check.card_for(answer, {}) == card


def test_the_example_in_the_maths_is_the_corrected_one():
    assert round(expected_tokens(0.7, 4), 2) == 2.77 and round(1 + 4 * 0.7, 1) == 3.8


def test_a_state_is_not_cut_back():
    rollback = question("check", "rollback")
    assert rollback.is_right("waits", {})
    assert [rollback.card_for(one, {}) for one in ("cut", "again")] == ["cutting-a-state", "starting-over"]


def test_every_card_can_be_reached():
    reachable = {
        near.card for name in ("predict", "check") for block in LESSON.named(name) for near in Question.of(block).near
    }
    assert reachable == {card.argument for card in LESSON.named("card")}
