"""What a class drew: every learner's line, thin, and the middle of each vote; once the answer is out, the right line.

As with bars, nothing hangs on a colour, and no line is told by person.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from statistics import median
from typing import Any, TypeGuard

from lessons.curves import Axes, Points
from lessons.questions import Answer, Question, Right
from views.chart import chart
from views.class_figure import say_what_changed
from views.class_votes import Round, Tally
from views.figure_curve import LEGEND, axes_described, curve, said, sides
from views.figure_style import FAINT, TEXT, travelling, whole_figure
from views.numbers_table import numbers_table
from views.palette import Theme
from views.words import _

HEIGHT, EMPTY_HEIGHT, OWN_HEIGHT = 330, 200, 240
_THIN = 0.35
"""How much of a learner's line is seen; where many lie upon each other it grows dark."""


def show_curve_votes(question: Question, tally: Tally, right: Right, theme: Theme, *, key: str) -> None:
    """The lines, how many changed theirs, and the middle of each vote as a table."""
    assert question.axes is not None
    votes, told = curves_of(question, tally), right if isinstance(right, tuple) else None
    spec = votes_figure(question, question.axes, votes, told, theme)
    chart(travelling(spec), key=f"votes-{key}", description=_described(question, question.axes, votes))
    say_what_changed(tally, None if told is None else _n_right(question, votes, told))
    numbers_table(_table(question.axes, votes, told), key=f"votes-{key}")


def show_axes(question: Question, theme: Theme, *, key: str) -> None:
    """The axes that a class draws on, empty, for the stage."""
    assert question.axes is not None
    spec = whole_figure([], sides(question, question.axes), theme, EMPTY_HEIGHT)
    chart(travelling(spec), key=f"axes-{key}", description=axes_described(question, question.axes))


def show_own_lines(question: Question, own: Mapping[Round, Answer], theme: Theme, *, key: str) -> None:
    """What a learner drew in each vote."""
    assert question.axes is not None
    names: dict[Round, str] = {1: _("Your first vote"), 2: _("Your second vote")}
    lines = {names[number]: points for number, points in sorted(own.items()) if _is_line(points, question)}
    dashes = {names[1]: "dash", names[2]: "solid"}
    traces = [
        curve(question.axes.at, points, {"color": TEXT[theme], "width": 3, "dash": dashes[name]}, name, "circle-open")
        for name, points in lines.items()
    ]
    spec = whole_figure(
        traces, {"showlegend": True, "legend": LEGEND, **sides(question, question.axes)}, theme, OWN_HEIGHT
    )
    told = "; ".join(f"{name}: {said(question.axes, points, question.unit)}" for name, points in lines.items())
    chart(travelling(spec), key=f"own-{key}", description=told)


Votes = dict[Round, Counter[Points]]


def curves_of(question: Question, tally: Tally) -> Votes:
    """The lines of each vote, and how many drew just that."""
    return {number: _curves(question, tally.of_round(number)) for number in (1, 2)}


def votes_figure(question: Question, axes: Axes, votes: Votes, right: Points | None, theme: Theme) -> dict[str, Any]:
    """The latest vote line by line, with the middle of both over it."""
    traces = [_thin(axes, points, theme) for points in _latest(votes)]
    if traces:
        traces[0] |= {"showlegend": True, "name": _("one learner each")}
    for name, middle in _middles(votes).items():
        line = {"color": FAINT[theme], "width": 4, "dash": "dash" if name == _names()[0] else "solid"}
        traces.append(curve(axes.at, middle, line, name, "circle"))
    if right:
        line = {"color": TEXT[theme], "width": 4}
        traces.append(curve(axes.at, right, line, "✓ " + (question.outcome or _("The model ran")), "square"))
    return whole_figure(traces, {"showlegend": True, "legend": LEGEND, **sides(question, axes)}, theme, HEIGHT)


def _latest(votes: Votes) -> list[Points]:
    """Every line of the second vote, or of the first while there is none."""
    return list(votes[2 if votes[2] else 1].elements())


def _names() -> tuple[str, str]:
    return _("middle of the first vote"), _("middle of the second vote")


def _curves(question: Question, votes: Counter[Answer]) -> Counter[Points]:
    return Counter({points: n for points, n in votes.items() if _is_line(points, question)})


def _is_line(answer: Answer, question: Question) -> TypeGuard[Points]:
    """Whether it is a line over these axes; the lesson may have changed since the vote."""
    return isinstance(answer, tuple) and question.accepts(answer)


def _thin(axes: Axes, points: Points, theme: Theme) -> dict[str, Any]:
    line = {"color": FAINT[theme], "width": 1.5}
    return {**curve(axes.at, points, line, ""), "opacity": _THIN, "showlegend": False, "hoverinfo": "skip"}


def _middle(votes: Counter[Points]) -> Points | None:
    """The median at each mark; None where nobody voted."""
    return tuple(median(column) for column in zip(*votes.elements(), strict=True)) if votes else None


def _n_right(question: Question, votes: Votes, right: Points) -> tuple[int, int]:
    first, second = (sum(n for points, n in votes[one].items() if question.same(points, right)) for one in (1, 2))
    return first, second


def _middles(votes: Votes) -> dict[str, Points]:
    """Name -> the middle of each vote that there was."""
    found = zip(_names(), map(_middle, (votes[1], votes[2])), strict=True)
    return {name: middle for name, middle in found if middle}


def _described(question: Question, axes: Axes, votes: Votes) -> str:
    told = ". ".join(f"{name}: {said(axes, middle, question.unit)}" for name, middle in _middles(votes).items())
    return _("Lines that the class drew. {each}.").format(each=told)


def _table(axes: Axes, votes: Votes, right: Points | None) -> dict[str, list[object]]:
    columns: dict[str, list[object]] = {axes.along: list(axes.at)}
    if every := _latest(votes):
        columns[_("lowest")] = [min(column) for column in zip(*every, strict=True)]
        columns[_("highest")] = [max(column) for column in zip(*every, strict=True)]
    columns |= {name: list(middle) for name, middle in _middles(votes).items()}
    if right:
        columns[_("right")] = list(right)
    return columns
