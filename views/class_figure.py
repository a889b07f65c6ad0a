"""What a class voted: the first vote beside the second, as bars and as a table.

The first vote is hatched, the second solid, and each bar carries its number, so that nothing hangs on a colour; the
five colours with a meaning are not used. Once the answer is out, the right one has a tick.
"""

from __future__ import annotations

import html
import re
import textwrap
from collections.abc import Callable
from dataclasses import dataclass

import plotly.graph_objects as go
import streamlit as st

from lessons.questions import Answer, Question, Right
from views.chart import chart
from views.class_votes import Tally
from views.figure_style import FAINT, TEXT, styled
from views.numbers_table import numbers_table
from views.palette import BACKGROUND, Theme
from views.words import _, ngettext

MOST_BARS = 10
"""Different numbers that get bars of their own; the rarest beyond share one."""
_MARKS = re.compile(r"[*`$]|:[a-z-]+\[|\]")


@dataclass(frozen=True)
class Row:
    """One answer and its votes. `right` None: not known, or not to be told."""

    label: str
    first: int
    second: int
    right: bool | None = None


def vote_rows(question: Question, tally: Tally, right: Right, written: Callable[[Answer], str]) -> list[Row]:
    """The answers in the question's own order: options as they stand, numbers from small to large, the rest last."""
    first, second = tally.of_round(1), tally.of_round(2)
    given = first + second
    if question.options:
        shown: list[Answer] = list(question.options)
    else:
        often = [answer for answer, _n in given.most_common(MOST_BARS)]
        numbers = [answer for answer in often if isinstance(answer, int | float)]
        shown = sorted(numbers)
    rows = [
        Row(written(one), first[one], second[one], None if right is None else question.same(one, right))
        for one in shown
    ]  # fmt: skip
    rest = [answer for answer in given if answer not in shown]
    if rest:
        words = ngettext("{n} other number", "{n} other numbers", len(rest)).format(n=len(rest))
        rows.append(Row(words, sum(first[one] for one in rest), sum(second[one] for one in rest)))
    return rows


def votes_figure(rows: list[Row], theme: Theme, *, large: bool) -> go.Figure:
    """Horizontal bars, two for each answer, the first vote on top."""
    size = 24 if large else 14
    labels = [_label(row, 34 if large else 26) for row in rows]
    figure = styled(go.Figure(), theme, height=round(size * (4 + sum(2.6 + label.count("<br>") for label in labels))))
    # Plotly draws from below, so what is to stand on top comes last.
    votes = [(_("first vote"), [row.first for row in rows], FAINT[theme], "/")]
    if any(row.second for row in rows):
        votes.insert(0, (_("second vote"), [row.second for row in rows], TEXT[theme], ""))
    for name, heights, colour, pattern in votes:
        figure.add_trace(
            go.Bar(
                y=labels[::-1], x=heights[::-1], name=name, orientation="h",
                text=[str(n) for n in heights[::-1]], textposition="outside", cliponaxis=False, constraintext="none",
                textfont={"size": size, "color": TEXT[theme]},
                marker={
                    "color": BACKGROUND[theme] if pattern else colour,
                    "line": {"color": colour, "width": [2 if n else 0 for n in heights[::-1]]},
                    "pattern": {"shape": pattern, "fgcolor": colour, "bgcolor": BACKGROUND[theme], "size": 8},
                },
                hovertemplate="%{x}<extra>" + name + "</extra>",
            )
        )  # fmt: skip
    most = max((max(row.first, row.second) for row in rows), default=0)
    figure.update_layout(barmode="group", bargap=0.35, bargroupgap=0.12, showlegend=True, margin_b=8)
    figure.update_layout(
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0, "traceorder": "reversed",
                "font": {"size": size}}
    )  # fmt: skip
    figure.update_xaxes(range=[0, max(1, most) * 1.12], showgrid=False, showticklabels=False)
    figure.update_yaxes(tickfont={"size": size, "color": TEXT[theme]}, type="category")
    return figure


def show_votes(rows: list[Row], tally: Tally, theme: Theme, *, large: bool, key: str) -> None:
    """The figure, how many changed their mind, and the numbers as a table."""
    chart(votes_figure(rows, theme, large=large).to_json(), key=f"votes-{key}", description=_described(rows))
    say_what_changed(tally, _right_counts(rows))
    numbers_table(_votes_table(rows), key=f"votes-{key}")


def _votes_table(rows: list[Row]) -> dict[str, list[object]]:
    table: dict[str, list[object]] = {
        _("answer"): [row.label for row in rows],
        _("first vote"): [row.first for row in rows],
        _("second vote"): [row.second for row in rows],
    }
    if any(row.right is not None for row in rows):
        table[_("right")] = ["✓" if row.right else "" for row in rows]
    return table


def _label(row: Row, width: int) -> str:
    words = _MARKS.sub("", f"✓ {row.label}" if row.right else row.label)
    return "<br>".join(html.escape(line, quote=False) for line in textwrap.wrap(words, width)) or " "


def say_what_changed(tally: Tally, right: tuple[int, int] | None) -> None:
    """How many changed their mind and, once that is known, how many were `right` in each vote."""
    for line in (_shift(tally), _verdict(tally, right) if right else ""):
        if line:
            st.markdown(line)
    st.caption(_("Counted from the votes of this class on this server; no vote is shown by person."))


def _shift(tally: Tally) -> str:
    if not tally.n_both:
        return ""
    said = ngettext(
        "Of {all} who voted twice, {n} changed the answer.", "Of {all} who voted twice, {n} changed the answer.",
        tally.n_changed,
    )  # fmt: skip
    return said.format(all=tally.n_both, n=tally.n_changed)


def _right_counts(rows: list[Row]) -> tuple[int, int] | None:
    if all(row.right is None for row in rows):
        return None
    return sum(row.first for row in rows if row.right), sum(row.second for row in rows if row.right)


def _verdict(tally: Tally, right: tuple[int, int]) -> str:
    first, second = tally.of_round(1).total(), tally.of_round(2).total()
    if not second:
        return _("Right in the vote: {n} of {all}.").format(n=right[0], all=first)
    return _("Right in the first vote: {a} of {all_a}; in the second: {b} of {all_b}.").format(
        a=right[0], all_a=first, b=right[1], all_b=second
    )


def _described(rows: list[Row]) -> str:
    told = [
        _("{answer}: {first} in the first vote, {second} in the second").format(
            answer=_MARKS.sub("", row.label), first=row.first, second=row.second
        )
        for row in rows
    ]
    return _("Votes of the class. {each}.").format(each="; ".join(told))
