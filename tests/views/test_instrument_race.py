"""The race: two runs on one axis to scale, tokens as they came out, the gap of the odds against what is allowed."""

import math

import msgspec
import pytest

from engine.account.record import Run
from lessons.instruments import INSTRUMENTS
from tests.lessons.story_run import DECODE_NS, PREFILL_NS, PROMPT, REPLY, story_run, token
from tests.lessons.two_served import recomputed_run
from views.figure_race import gap_figure, race_figure
from views.figure_style import PATTERNS
from views.instruments.race import results_of
from views.palette import COLOURS
from views.two_runs import TOLERANCE, compare_odds, same_question, tokens_computed

THEMES = ["light", "dark"]
P, N = len(PROMPT), len(REPLY)


def with_odds(run: Run, number: int, factor: float) -> Run:
    """The run with the odds of one new token's first candidate multiplied."""
    one = run.passes[number]
    out = one.emitted[0]
    first = msgspec.structs.replace(out.candidates[0], model=out.candidates[0].model * factor)
    changed = msgspec.structs.replace(out, candidates=[first, *out.candidates[1:]])
    events = [msgspec.structs.replace(one, emitted=[changed]) if each is one else each for each in run.events]
    return Run(events)


@pytest.mark.parametrize("theme", THEMES)
def test_both_runs_stand_on_one_axis_from_their_first_pass_on(theme):
    kept, again = story_run(), recomputed_run()
    figure = race_figure(kept, again, theme, recorded=False).figure
    blocks = {trace.name: trace for trace in figure.data if trace.type == "bar"}
    assert list(blocks["prefill"].base) == [0, 0] and list(blocks["prefill"].y) == ["with cache", "recomputed"]
    assert blocks["decode"].x[0] == DECODE_NS / 1e6 and len(blocks["decode"].x) == 2 * (N - 1)
    assert min(blocks["decode"].base) == min(PREFILL_NS, 3 * DECODE_NS) / 1e6
    low, high = figure.layout.xaxis2.range
    end = (again.passes[-1].end_ns - again.passes[0].start_ns) / 1e6
    assert low == 0 and end < high < end * 1.1 and tuple(figure.layout.xaxis.range) == (low, high)
    assert figure.layout.xaxis2.title.text == "ms since the first pass began"


@pytest.mark.parametrize("theme", THEMES)
def test_phases_and_runs_are_told_apart_without_colour_and_the_legend_names_all_four(theme):
    figure = race_figure(story_run(), recomputed_run(), theme, recorded=False).figure
    assert figure.layout.showlegend and [trace.name for trace in figure.data] == [
        "prefill", "decode", "with cache", "recomputed",
    ]  # fmt: skip
    for trace in figure.data[:2]:
        assert trace.marker.color == COLOURS[theme][trace.name] and trace.marker.pattern.shape == PATTERNS[trace.name]
    assert [trace.line.dash for trace in figure.data[2:]] == ["solid", "dash"]


def test_tokens_come_out_when_their_pass_ends_and_both_lines_reach_the_last():
    kept, again = story_run(), recomputed_run()
    figure = race_figure(kept, again, "light", recorded=True).figure
    for line, run in zip(figure.data[2:], (kept, again), strict=True):
        assert list(line.y) == list(range(N + 1)) and line.line.shape == "hv"
        assert list(line.x[1:]) == [(one.end_ns - run.passes[0].start_ns) / 1e6 for one in run.passes]
    low, high = figure.layout.yaxis2.range
    assert low == 0 and high > N


def test_two_runs_that_were_served_alike_are_numbered():
    names = [trace.name for trace in race_figure(story_run(), story_run(), "light", recorded=True).figure.data[2:]]
    assert names == ["first run", "second run"]


def test_the_race_says_where_its_times_come_from():
    assert race_figure(story_run(), recomputed_run(), "light", recorded=True).evidence == "recorded"
    assert race_figure(story_run(), recomputed_run(), "light", recorded=False).evidence == "measured"


def test_the_same_odds_have_no_gap_and_one_that_moved_is_found_where_it_moved():
    moved = with_odds(recomputed_run(), 3, 1.1)
    compared = compare_odds(story_run(), moved)
    assert compared.parted_at is None and len(compared.gaps) == N
    assert [gap.largest for gap in compared.gaps] == [0, 0, 0, pytest.approx(math.log(1.1)), *[0] * (N - 4)]
    assert compared.largest == pytest.approx(math.log(1.1))


def test_comparing_stops_where_the_texts_part():
    other = story_run(reply=[*REPLY[:4], " else", *REPLY[5:]])
    compared = compare_odds(story_run(), other)
    assert compared.parted_at == 4 and len(compared.gaps) == 4
    assert gap_figure(compared, "light").note == "The runs wrote the same 4 tokens, then parted."


def test_the_axis_of_the_gap_holds_the_allowed_gap_and_the_largest_that_was_found():
    for factor in (1.0, 2.0):
        compared = compare_odds(story_run(), with_odds(recomputed_run(), 2, factor))
        figure = gap_figure(compared, "light").figure
        low, high = figure.layout.yaxis.range
        assert low < 0 and high > max(TOLERANCE, math.log(factor)) and low > -0.1 * high
        (line,) = figure.layout.shapes
        assert line.y0 == line.y1 == TOLERANCE


def test_what_the_race_publishes_is_what_the_catalogue_names_and_counts_every_token_each_time_it_goes():
    results = results_of(story_run(), recomputed_run())
    assert set(results) == set(INSTRUMENTS["race"].publishes)
    assert results["positions"] == P + N - 1
    assert results["other_positions"] == sum(P + i for i in range(N)) == tokens_computed(recomputed_run())
    lengths = [one.end_ns - one.start_ns for one in recomputed_run().passes]
    assert lengths[0] <= results["other_first_steps"] < results["other_last_steps"] <= lengths[-1]
    assert results["step"] == DECODE_NS and results["gap"] == 0 and results["same_tokens"] == N


def test_only_runs_of_one_prompt_with_one_setting_are_compared():
    other = story_run()
    header = msgspec.structs.replace(other.header, prompt_tokens=[token(" x")], prompt=" x")
    assert same_question(story_run(), recomputed_run())
    assert not same_question(story_run(), Run([header, *other.events[1:]]))
