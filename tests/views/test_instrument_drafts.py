"""Guesses ahead: counted from the run's passes, drawn pass by pass, and held against the formula of law 9."""

import pytest

from lessons.instruments import INSTRUMENTS
from tests.lessons.story_run import DECODE_NS, PREFILL_NS, REPLY, story_run
from tests.lessons.two_served import drafted_run
from views.drafting import Drafting, expected_tokens
from views.figure_drafts import formula_figure, guesses_figure
from views.figure_race import race_figure
from views.instruments.drafts import results_of
from views.palette import COLOURS

THEMES = ["light", "dark"]
SHAPE = [(0, 0), (4, 2), (4, 0), (2, 2), (0, 0)]
"""Guesses and right ones of each decode pass; ten tokens with the prefill's."""


@pytest.mark.parametrize("theme", THEMES)
def test_bars_stack_to_what_went_in_and_marks_stand_at_what_came_out(theme):
    run = drafted_run(SHAPE)
    figure = guesses_figure(run, theme, recorded=False).figure
    known, right, wrong, out = figure.data
    assert [sum(column) for column in zip(known.y, right.y, wrong.y, strict=True)] == [1 + g for g, _ in SHAPE]
    assert list(right.y) == [a for _, a in SHAPE] and list(wrong.y) == [g - a for g, a in SHAPE]
    assert list(out.y) == [a + 1 for _, a in SHAPE] and list(out.x) == [2, 3, 4, 5, 6]
    assert figure.layout.yaxis.range[0] == 0 and figure.layout.yaxis.range[1] > 5
    assert figure.layout.xaxis.range[0] < 2 and figure.layout.xaxis.range[1] > 6
    assert figure.layout.barmode == "stack" and figure.layout.showlegend
    assert len({bar.marker.pattern.shape for bar in (known, right, wrong)}) == 3
    assert known.marker.color == right.marker.color == COLOURS[theme]["decode"] != wrong.marker.color


def test_a_guess_behind_a_wrong_one_was_never_judged():
    told = Drafting.of(drafted_run(SHAPE))
    assert (told.drafted, told.accepted, told.judged) == (10, 4, (2 + 1) + 1 + 2)
    assert told.acceptance == 4 / 6 and (len(told.checks), len(told.plain)) == (3, 2)
    assert told.tokens_per_check == (3 + 1 + 3) / 3 and told.tokens_per_decode == 9 / 5


def test_a_run_without_guesses_has_no_acceptance_and_not_one_of_zero():
    told = Drafting.of(story_run())
    assert told.acceptance is None and told.tokens_per_check is None and told.check_cost is None
    assert "No pass" in formula_figure(story_run(), "light").note


@pytest.mark.parametrize("g", [1, 3, 4, 8])
@pytest.mark.parametrize("a", [0.0, 0.3, 0.7, 1.0])
def test_the_formula_is_the_sum_over_how_many_hold(a, g):
    chances = [a**right * (1 - a) for right in range(g)] + [a**g]
    assert sum(chances) == pytest.approx(1)
    assert expected_tokens(a, g) == pytest.approx(sum((n + 1) * chance for n, chance in enumerate(chances)))


@pytest.mark.parametrize("theme", THEMES)
def test_the_curve_runs_from_one_token_to_all_of_them_and_the_run_stands_on_its_acceptance(theme):
    run = drafted_run(SHAPE)
    figure = formula_figure(run, theme).figure
    exact, naive, star = figure.data
    g = run.header.serving.n_drafts
    assert (exact.y[0], exact.y[-1]) == (1, g + 1) == (naive.y[0], naive.y[-1])
    assert all(real <= belief + 1e-12 for real, belief in zip(exact.y, naive.y, strict=True))
    assert list(star.x) == [4 / 6] and list(star.y) == [7 / 3]
    (x0, x1), (y0, y1) = figure.layout.xaxis.range, figure.layout.yaxis.range
    assert x0 == 0 and x1 >= 1 and y0 == 0 and y1 > g + 1
    assert exact.line.dash != naive.line.dash and figure.layout.showlegend


def test_beside_a_run_without_guesses_the_lanes_are_named_by_that():
    names = [trace.name for trace in race_figure(drafted_run(SHAPE), story_run(), "light", recorded=True).figure.data]
    assert names == ["prefill", "decode", "with guesses", "without"]


def test_gain_and_loss_are_the_other_run_s_time_over_this_one_s():
    plain = story_run()
    time = PREFILL_NS + (len(REPLY) - 1) * DECODE_NS
    quick = results_of(drafted_run(SHAPE), plain)
    assert quick["other_time"] == time and quick["speedup"] == time / (PREFILL_NS + len(SHAPE) * DECODE_NS) > 1
    slow = results_of(drafted_run(SHAPE, pass_ns=4 * DECODE_NS), plain)
    assert slow["speedup"] < 1 and slow["check_cost"] == 1


def test_what_the_instrument_publishes_is_what_the_catalogue_names():
    results = results_of(drafted_run(SHAPE), story_run())
    assert set(results) == set(INSTRUMENTS["drafts"].publishes) and results["same_tokens"] == len(REPLY)
