"""The votes of a class as bars, and a saved class as a load."""

from __future__ import annotations

from collections import Counter

import pytest

from engine.account.workload import SCHEMA, Ask, Workload
from lessons import catalogue
from lessons.questions import Question
from views.class_figure import MOST_BARS, vote_rows, votes_figure
from views.class_replay import replayed
from views.class_votes import Tally


def question(name: str) -> Question:
    return next(
        Question.of(block)
        for lesson in catalogue.lessons()
        for block in lesson.named("predict")
        if block.argument == name
    )


def test_numbers_stand_in_order_the_rare_ones_together_and_the_right_one_is_marked_when_it_is_out():
    pairs = Counter({(11, 10): 6, (18, 10): 3, (10, 10): 2, **{(n, None): 1 for n in range(101, 101 + MOST_BARS)}})
    tally = Tally(pairs)
    hidden = vote_rows(question("passes"), tally, None, str)
    assert [row.label for row in hidden][:3] == ["10", "11", "18"] and all(row.right is None for row in hidden)
    assert "other number" in hidden[-1].label and len(hidden) == MOST_BARS + 1
    for number in (1, 2):
        assert sum((row.first, row.second)[number - 1] for row in hidden) == tally.of_round(number).total()
    assert (tally.n_both, tally.n_changed) == (11, 9)
    told = vote_rows(question("passes"), tally, 10, str)
    assert [row.label for row in told if row.right] == ["10"]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_first_and_second_vote_differ_by_more_than_colour_and_carry_their_numbers(theme):
    one = question("larger")
    rows = vote_rows(one, Tally(Counter({("cache", "state"): 3, ("state", "state"): 1})), "state", str)
    assert [row.label for row in rows] == list(one.options), "an option nobody chose stands there, too"
    second, first = votes_figure(rows, theme, large=True).data
    assert first.marker.pattern.shape == "/" and not second.marker.pattern.shape
    assert set(first.text) == {"3", "1"} and set(second.text) == {"4", "0"}
    assert [label for label in first.y if label.startswith("✓")] == ["✓ state"]
    only_first = vote_rows(one, Tally(Counter({("cache", None): 3})), None, str)
    assert len(votes_figure(only_first, theme, large=False).data) == 1


def test_a_saved_class_is_a_load_of_the_virtual_clock_cut_to_the_model_s_context():
    asks = [Ask(0, "a", 8, 10), Ask(4_000_000_000, "b", 10**6, 10**6)]
    first, second = replayed(Workload(SCHEMA, "", "", asks), "story", 2.0)
    assert first == (0, 8, 10) and second == (2_000_000_000, 1024, 1024)
