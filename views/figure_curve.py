"""A curve that was drawn by hand beside the one that turned out right, over the axes that it was drawn on.

Neither has one of the five colours: what is compared may be bytes, tokens or odds. They differ by line and mark.
"""

from __future__ import annotations

from typing import Any

from lessons.curves import Axes, Points
from lessons.filters import write
from lessons.questions import Answer, Question, Right
from views.evidence import Evidence
from views.figure_style import FAINT, TEXT, Drawn, show, whole_figure
from views.palette import Theme
from views.theme import current_theme
from views.words import _

HEIGHT = 300
LEGEND = {"orientation": "h", "yanchor": "bottom", "y": 1.02, "x": 0, "font": {"size": 13}}
BESIDE = 0.03
"""Share of the width left free beside the first and the last mark."""


def show_curves(question: Question, guess: Answer | None, right: Right, evidence: Evidence, *, key: str) -> None:
    """Draw both; None for a guess that was not made, or a right curve that is not known."""
    assert question.axes is not None
    sketch, told = (one if isinstance(one, tuple) else None for one in (guess, right))
    show(curves_figure(question, question.axes, sketch, told, evidence, current_theme()), key=f"curve-{key}")


def curves_figure(
    question: Question, axes: Axes, sketch: Points | None, right: Points | None, evidence: Evidence, theme: Theme
) -> Drawn:
    """The sketch dashed, with rings; what is right solid, with squares."""
    outcome = question.outcome or _("The model ran")
    lines = [
        (_("You drew"), sketch, {"color": FAINT[theme], "width": 3, "dash": "dash"}, "circle-open"),
        (outcome, right, {"color": TEXT[theme], "width": 3}, "square"),
    ]
    known = [(name, points, line, symbol) for name, points, line, symbol in lines if points is not None]
    traces = [curve(axes.at, points, line, name, symbol) for name, points, line, symbol in known]
    return Drawn(
        spec=whole_figure(traces, {"showlegend": True, "legend": LEGEND, **sides(question, axes)}, theme, HEIGHT),
        title=_("Your line and what is right") if sketch else outcome,
        description=". ".join(f"{name}: {said(axes, points, question.unit)}" for name, points, *_rest in known) + ".",
        evidence=evidence,
        how=_how(question, axes, sketch),
        table={axes.along: list(axes.at), **{name: list(points) for name, points, *_rest in known}},
    )


def curve(at: Points, points: Points, line: dict[str, Any], name: str, symbol: str = "") -> dict[str, Any]:
    """One line over the marks as a Plotly trace; with a `symbol` each mark has one."""
    marker = {"symbol": symbol, "size": 10, "color": line["color"], "line": {"width": 2, "color": line["color"]}}
    return {
        "type": "scatter", "x": list(at), "y": list(points), "name": name, "line": line, "cliponaxis": False,
        "mode": "lines+markers" if symbol else "lines", "hovertemplate": "%{x:,} · %{y:,}<extra></extra>",
        **({"marker": marker} if symbol else {}),
    }  # fmt: skip


def sides(question: Question, axes: Axes) -> dict[str, Any]:
    """The axes of the layout: the very ones that were drawn on."""
    beside = (axes.at[-1] - axes.at[0]) * BESIDE
    height = question.largest - question.smallest
    return {
        "xaxis": {"title": {"text": axes.along}, "range": [axes.at[0] - beside, axes.at[-1] + beside]},
        "yaxis": {
            "title": {"text": question.counted}, "tickformat": ",",
            "range": [question.smallest, question.largest + height * 0.04],
        },
    }  # fmt: skip


def axes_described(question: Question, axes: Axes) -> str:
    """A drawing that is still empty, for whoever cannot see it."""
    return _("The axes to draw on: {up} over {along}.").format(up=question.counted, along=axes.along)


def said(axes: Axes, points: Points, unit: str) -> str:
    """A curve in words, mark by mark: "0: 288 KiB; 100: 488 KiB"."""
    each = zip(axes.at, points, strict=True)
    return "; ".join(f"{write(x, ())}: {write(y, ())} {unit}".strip() for x, y in each)


def _how(question: Question, axes: Axes, sketch: Points | None) -> str:
    source = question.answer if isinstance(question.answer, str) else question.answer.source
    right = _("The right line has {n} values. In the lesson's own words: `{source}`.").format(
        n=len(axes.at), source=source
    )
    return " ".join([_("Your line joins what you drew."), right] if sketch else [right])
