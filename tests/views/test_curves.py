"""Drawn lines as figures: a learner's beside the right one, and a class's with its middle, on the axes drawn on."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from xml.etree import ElementTree

import plotly.graph_objects as go
import pytest

from lessons import catalogue
from lessons.curves import Points
from lessons.questions import Question
from lessons.run_values import values_of
from tests.lessons.story_run import story_run
from views.class_curves import curves_of, votes_figure
from views.class_votes import Tally
from views.figure_curve import curves_figure
from views.handout_svg import curve_svg

LESSON = next(one for one in catalogue.lessons() if one.slug == "what-the-model-remembers")
GROWTH = Question.of(next(block for block in LESSON.named("predict") if block.argument == "growth"))
THEMES = ["light", "dark"]
SKETCH: Points = (0, 150, 300, 450, 600, 750, 900, 1050, 1200)


def right() -> Points:
    value = GROWTH.right_value(values_of(story_run()))
    assert isinstance(value, tuple)
    return value


def drawn(sketch: Points | None, told: Points | None, theme="light"):
    assert GROWTH.axes is not None
    return curves_figure(GROWTH, GROWTH.axes, sketch, told, "computed", theme)


@pytest.mark.parametrize("theme", THEMES)
def test_the_two_lines_differ_by_dash_and_mark_and_each_has_its_name(theme):
    mine, told = drawn(SKETCH, right(), theme).figure.data
    assert (mine.name, told.name) == ("You drew", "By the formula")
    assert (mine.line.dash, told.line.dash) == ("dash", None)
    assert (mine.marker.symbol, told.marker.symbol) == ("circle-open", "square")
    assert tuple(mine.y) == SKETCH and tuple(told.y) == right()


def test_the_axes_are_those_that_were_drawn_on_and_hold_every_mark():
    figure = drawn(SKETCH, right()).figure
    low, high = figure.layout.xaxis.range
    assert low < 0 and 800 < high < 850 and figure.layout.xaxis.title.text == "tokens held"
    assert figure.layout.yaxis.range[0] == 0 and 1400 <= figure.layout.yaxis.range[1] < 1500
    assert figure.layout.yaxis.title.text == "Cache and state together (KiB)"


def test_the_numbers_stand_in_the_table_and_in_the_words_for_who_cannot_see():
    one = drawn(SKETCH, right())
    assert dict(one.table) == {
        "tokens held": list(range(0, 900, 100)), "You drew": list(SKETCH), "By the formula": list(right()),
    }  # fmt: skip
    assert "You drew: 0: 0 KiB; 100: 150 KiB" in one.description and "800: 1,184 KiB" in one.description
    assert "model.state_bytes" in one.how and one.evidence == "computed"


def test_without_a_guess_or_without_the_right_line_the_other_stands_alone():
    assert [trace.name for trace in drawn(None, right()).figure.data] == ["By the formula"]
    assert [trace.name for trace in drawn(SKETCH, None).figure.data] == ["You drew"]


LOW: Points = (0,) * 9
HIGH: Points = (1000,) * 9
MIDDLE: Points = (400,) * 9
VOTES = Tally(Counter({(LOW, MIDDLE): 2, (HIGH, MIDDLE): 1, (MIDDLE, None): 2}))


def class_figure(tally: Tally, told: Points | None, theme="light") -> go.Figure:
    assert GROWTH.axes is not None
    return go.Figure(votes_figure(GROWTH, GROWTH.axes, curves_of(GROWTH, tally), told, theme))


@pytest.mark.parametrize("theme", THEMES)
def test_a_class_sees_every_line_of_the_latest_vote_and_the_middle_of_both(theme):
    figure = class_figure(VOTES, None, theme)
    thin = [trace for trace in figure.data if trace.opacity]
    assert [tuple(trace.y) for trace in thin] == [MIDDLE] * 3, "as many as voted the second time"
    first, second = (trace for trace in figure.data if not trace.opacity)
    assert set(first.y) == {400} and first.line.dash == "dash" and second.line.dash == "solid"
    assert [trace.name for trace in figure.data if trace.showlegend is not False] == [
        "one learner each", "middle of the first vote", "middle of the second vote",
    ]  # fmt: skip


def test_the_right_line_comes_only_once_it_is_told():
    assert "✓ By the formula" not in [trace.name for trace in class_figure(VOTES, None).data]
    last = class_figure(VOTES, right()).data[-1]
    assert last.name == "✓ By the formula" and tuple(last.y) == right() and last.marker.symbol == "square"


def test_on_paper_the_axes_are_empty_to_draw_on_and_the_answer_has_a_square_at_each_mark():
    assert GROWTH.axes is not None
    to_draw_on = ElementTree.fromstring(curve_svg(GROWTH, GROWTH.axes))
    assert not list(to_draw_on.iter("rect")) and "Cache and state together" in to_draw_on.attrib["aria-label"]
    told = ElementTree.fromstring(curve_svg(GROWTH, GROWTH.axes, right()))
    squares = [(float(one.attrib["x"]), float(one.attrib["y"])) for one in told.iter("rect")]
    across = [b[0] - a[0] for a, b in pairwise(squares)]
    down = [a[1] - b[1] for a, b in pairwise(squares)]
    assert len(squares) == 9 and max(across) - min(across) < 0.3 and max(down) - min(down) < 0.3
    labels = [one.text for one in told.iter("text")]
    assert {"0", "800", "1,000", "tokens held"} <= set(labels)
