"""Lesson 4 says what was measured: each wrong belief meets its card, and what the prose says of heads holds."""

import pytest

from engine.account import cost
from lessons.catalogue import lessons, recording
from lessons.questions import Question
from lessons.recall import kept_recall, planted
from tests.views.test_instrument_state import kept_trace
from views.instruments.state import recall_results, results_of
from views.state_changes import changes, heads_keep

(LESSON,) = [one for one in lessons() if one.number == 4]
RUN = recording(LESSON.front.recording)


def question(name: str, argument: str) -> Question:
    block = LESSON.find(name, argument)
    assert block is not None
    return Question.of(block)


def test_the_name_came_through_the_cache_and_every_other_belief_meets_its_card():
    found, where = recall_results(kept_recall()), question("predict", "where")
    assert found["name_cache_share"] > 0.9 > 0.1 > found["name_state_share"] and where.is_right("cache", {})
    assert [where.card_for(one, {}) for one in ("state", "half", "neither")] == [
        "memory-means-state", "shared-out", "the-weights-know",
    ]  # fmt: skip


def test_the_recording_plants_the_name_and_the_trace_is_of_this_very_run():
    assert RUN.header.prompt == LESSON.front.prompt == planted("Max", 2)
    ids = [token.id for token in RUN.header.prompt_tokens] + [one.token.id for one in RUN.emissions[:-1]]
    assert [token.id for token in kept_trace().tokens] == ids


def test_most_heads_let_go_within_three_tokens_and_the_longest_keeps_nothing_for_five_hundred():
    heads = heads_keep(kept_trace())
    assert sum(one.half_life < 3 for one in heads) > len(heads) / 2
    results = results_of(heads)
    assert results["left_near"] > 0.25 and results["left_far"] < 0.01


def test_in_the_head_shown_erasing_takes_more_than_fading():
    told = [one for one in changes(kept_trace())[2:] if one.erased is not None]
    assert len(told) > 30 and all(one.erased > one.faded for one in told)


def test_the_table_has_the_columns_that_the_maths_says():
    shape = RUN.header.model
    assert shape.linear_key_head_dim == 64 and cost.recurrent_state_bytes(shape) == 6 * 4 * 64 * 64 * 4


@pytest.mark.parametrize(
    ("answer", "card"),
    [(12.5, None), (12.4, None), (33.3, "a-straight-line"), (0, "gone-at-once"), (50, "one-halving"), (20, None)],
)
def test_three_half_lives_leave_an_eighth(answer, card):
    left = question("check", "left")
    assert left.card_for(answer, {}) == card
    assert left.is_right(answer, {}) == (abs(answer - 100 * 0.5 ** (30 / 10)) <= 0.3)


def test_twice_the_text_leaves_the_state_as_it_is():
    longer = question("check", "longer")
    assert longer.is_right("same", {})
    assert [longer.card_for(one, {}) for one in ("double", "full")] == ["state-that-grows", "state-that-fills"]


def test_every_card_can_be_reached():
    reachable = {
        near.card for name in ("predict", "check") for block in LESSON.named(name) for near in Question.of(block).near
    }
    assert reachable == {card.argument for card in LESSON.named("card")}
