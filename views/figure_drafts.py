"""Guesses, pass by pass, and how many tokens a check gives by the formula and in this run."""

from __future__ import annotations

import plotly.graph_objects as go

from engine.account.record import Pass, Run
from lessons.filters import significant
from views.drafting import Drafting, expected_tokens
from views.evidence import source_line
from views.figure_style import FAINT, TEXT, Drawn, styled
from views.palette import COLOURS, Theme
from views.safe_text import plotly_text, token_label
from views.words import _

CURVE = [i / 50 for i in range(51)]


def guesses_figure(run: Run, theme: Theme, *, recorded: bool) -> Drawn:
    """What went into each decode pass, stacked: the known token, right guesses, wrong guesses; and what came out."""
    passes = [one for one in run.passes if one.phase == "decode"]
    colour = COLOURS[theme]["decode"]
    parts = (
        (_("known token"), [len(one.token_ids) - one.drafted for one in passes], colour, "/"),
        (_("guess, right"), [one.accepted for one in passes], colour, ""),
        (_("guess, wrong"), [one.drafted - one.accepted for one in passes], FAINT[theme], "x"),
    )
    figure = go.Figure()
    numbers = [one.number + 1 for one in passes]
    for name, counts, shade, shape in parts:
        pattern = {"shape": shape, "fillmode": "overlay", "size": 6, "solidity": 0.2}
        marker = {"color": shade, "pattern": pattern, "line": {"width": 0}}
        figure.add_trace(go.Bar(name=name, x=numbers, y=counts, marker=marker, hovertemplate="%{y}"))
    figure.add_trace(
        go.Scatter(
            name=_("tokens out"), x=numbers, y=[len(one.emitted) for one in passes], mode="markers",
            marker={"symbol": "line-ew", "size": 9, "line": {"width": 3, "color": TEXT[theme]}, "color": TEXT[theme]},
            text=[_emitted(one) for one in passes], hovertemplate="%{y}: %{text}",
        )
    )  # fmt: skip
    styled(figure, theme, height=300)
    most = max((len(one.token_ids) for one in passes), default=1)
    figure.update_layout(
        barmode="stack", bargap=0.2, showlegend=True, hovermode="x unified",
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
    )  # fmt: skip
    ends = [numbers[0] - 0.7, numbers[-1] + 0.7] if numbers else [0, 1]
    figure.update_xaxes(title_text=_("pass"), showgrid=False, tickformat="d", range=ends)
    figure.update_yaxes(title_text=_("tokens"), range=[0, most * 1.1], dtick=1)
    told = Drafting.of(run)
    return Drawn(
        spec=figure,
        title=_("What each pass checked"),
        description=_("{right} of {all} guesses were right, over {n} decode passes.").format(
            right=told.accepted, all=told.drafted, n=len(passes)
        ),
        evidence="recorded" if recorded else "measured",
        how=_(
            "Read from the run's record: how many tokens went into each pass, how many of them were guesses, how many "
            "guesses the model confirmed, and what the pass emitted. A pass emits its right guesses and one token of "
            "its own. {source}."
        ).format(source=source_line(run, recorded=recorded)),
        table={
            _("pass"): numbers,
            _("tokens in"): [len(one.token_ids) for one in passes],
            _("guesses"): [one.drafted for one in passes],
            _("right"): [one.accepted for one in passes],
            _("tokens out"): [len(one.emitted) for one in passes],
            _("out"): [_emitted(one) for one in passes],
        },
    )


def formula_figure(run: Run, theme: Theme) -> Drawn:
    """Law 9 for this run's number of guesses, the belief that each guess counts for itself, and the run as a point."""
    told, g = Drafting.of(run), run.header.serving.n_drafts
    figure = go.Figure()
    exact = [expected_tokens(a, g) for a in CURVE]
    figure.add_trace(_line(_("expected"), exact, COLOURS[theme]["decode"], "solid"))
    naive = [1 + g * a for a in CURVE]
    figure.add_trace(_line(_("if no guess hung on the one before"), naive, FAINT[theme], "dash"))
    if told.acceptance is not None:
        figure.add_trace(
            go.Scatter(
                name=_("this run"), x=[told.acceptance], y=[told.tokens_per_check], mode="markers",
                marker={"symbol": "star", "size": 15, "color": TEXT[theme]}, hovertemplate="%{x:.0%}: %{y:.2f}",
            )
        )  # fmt: skip
    styled(figure, theme, height=320)
    figure.update_layout(showlegend=True, legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0})
    figure.update_xaxes(title_text=_("acceptance"), range=[0, 1.02], tickformat=".0%")
    figure.update_yaxes(title_text=_("tokens a pass"), range=[0, (g + 1) * 1.06], dtick=1)
    return Drawn(
        spec=figure,
        title=_("Tokens from a pass that checks {g} guesses").format(g=g),
        description=_description(told, g),
        evidence="computed",
        how=_(
            "The line is (1 − aᵍ⁺¹) / (1 − a) for g = {g} guesses that are each right with chance a: a guess counts "
            "only if all before it were right. The dashed line, 1 + g·a, forgets that. The star is this run: its "
            "acceptance is the share of right guesses among those that the model came to, and its height the mean "
            "number of tokens that a pass with guesses gave. A pass may have had fewer than {g}; with those as they "
            "were, the formula expects {expected}."
        ).format(g=g, expected=_number(told.expected_per_check)),
        table={
            _("acceptance"): [*CURVE],
            _("tokens a pass, expected"): [round(one, 3) for one in exact],
            _("1 + g·a"): [round(one, 3) for one in naive],
        },
        note=_note(told),
    )


def _line(name: str, heights: list[float], colour: str, dash: str) -> go.Scatter:
    return go.Scatter(
        name=name, x=CURVE, y=heights, mode="lines", line={"color": colour, "width": 2.5, "dash": dash},
        hovertemplate="%{x:.0%}: %{y:.2f}",
    )  # fmt: skip


def _description(told: Drafting, g: int) -> str:
    line = _("Expected tokens from 1 without a right guess to {most} if all are right.").format(most=g + 1)
    return f"{line} {_note(told)}"


def _note(told: Drafting) -> str:
    if told.acceptance is None:
        return _("No pass of this run had a guess to check.")
    return _("This run: {a} of the guesses that were judged held, {measured} tokens a check.").format(
        a=f"{told.acceptance:.0%}", measured=_number(told.tokens_per_check)
    )


def _number(value: float | None) -> str:
    return "-" if value is None else significant(value)


def _emitted(one: Pass) -> str:
    return plotly_text(" ".join(token_label(emission.token.text) for emission in one.emitted), longest=40)
