"""When each pass ran: one block a pass on a time axis to scale, prefill and decode in rows of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine.account.metrics import timings
from engine.account.record import Pass, Phase, Run
from lessons.filters import milliseconds
from views.conditions import condition
from views.evidence import source_line, timing_evidence
from views.figure_style import FAINT, ON_COLOUR, Drawn, phase_pattern, whole_figure
from views.palette import COLOURS, Theme
from views.safe_text import plotly_text, token_label
from views.words import _, ngettext

_LABELLED_PASSES = 14
"""Up to so many passes, each block has room for the token that it emitted."""

_SEPARATE_PASSES = 150
"""Up to so many, blocks are wide enough for hatching and a line between them; beyond, their row tells the phase."""


def passes_figure(run: Run, theme: Theme, *, recorded: bool) -> Drawn:
    """Pass durations of a run that has at least one pass."""
    traces = [_blocks(run.passes, phase, theme) for phase in ("decode", "prefill")]
    end_ms = run.passes[-1].end_ns / 1e6
    layout = {
        "bargap": 0.25, "barmode": "overlay", "uniformtext": {"minsize": 11, "mode": "hide"},
        "xaxis": {"title": {"text": _("ms since the request arrived")}, "range": [0, end_ms * 1.02]},
        "yaxis": {"showgrid": False, "tickfont": {"size": 14}},
    }  # fmt: skip
    return Drawn(
        spec=whole_figure(traces, layout | _first_token(run, theme), theme, height=210),
        title=_("When each pass ran"),
        description=_description(run),
        evidence=timing_evidence(run, recorded=recorded),
        how=_(
            "The engine reads a monotonic clock when a pass starts and again when its tokens exist, sampling included. "
            "The blocks are those times, to scale. {source}."
        ).format(source=source_line(run, recorded=recorded)),
        table=_table(run.passes),
        found=condition(run),
    )


def _blocks(passes: Sequence[Pass], phase: Phase, theme: Theme) -> dict[str, Any]:
    chosen = [one for one in passes if one.phase == phase]
    tokens = [_emitted(one) for one in chosen]
    separate = len(passes) <= _SEPARATE_PASSES
    return {
        "type": "bar",
        "name": phase,
        "orientation": "h",
        "base": [one.start_ns / 1e6 for one in chosen],
        "x": [(one.end_ns - one.start_ns) / 1e6 for one in chosen],
        "y": [phase] * len(chosen),
        "text": tokens if len(passes) <= _LABELLED_PASSES else None,
        "textposition": "inside",
        "insidetextanchor": "middle",
        "insidetextfont": {"color": ON_COLOUR[theme]},
        "textangle": 0,
        "cliponaxis": False,
        "marker": {
            "color": COLOURS[theme][phase],
            "line": {"width": 1 if separate else 0, "color": ON_COLOUR[theme]},
            "pattern": phase_pattern(phase) if separate else None,
        },
        "customdata": [[one.number + 1, len(one.token_ids), token] for one, token in zip(chosen, tokens, strict=True)],
        "hovertemplate": _(
            "pass %{customdata[0]} · %{x:.2f} ms<br>tokens in: %{customdata[1]}<br>out: %{customdata[2]}"
        )
        + "<extra></extra>",
    }


def _first_token(run: Run, theme: Theme) -> dict[str, Any]:
    """The wait that a person feels before anything appears, as a part of the layout."""
    ttft_ns = timings(run).ttft_ns
    if ttft_ns is None:
        return {}
    at = ttft_ns / 1e6
    line = {
        "type": "line", "x0": at, "x1": at, "y0": 0, "y1": 1, "yref": "y domain",
        "line": {"width": 1, "dash": "dot", "color": FAINT[theme]},
    }  # fmt: skip
    words = {
        "text": _("first token after {time}").format(time=milliseconds(ttft_ns)), "showarrow": False,
        "x": at, "xanchor": "left", "xshift": 6, "y": 0.75, "yref": "y domain", "yanchor": "middle",
        "font": {"size": 13, "color": FAINT[theme]},
    }  # fmt: skip
    return {"shapes": [line], "annotations": [words]}


def _description(run: Run) -> str:
    decodes = sum(one.phase == "decode" for one in run.passes)
    return ngettext(
        "Time line of {n} pass in {time}.",
        "Time line of {n} passes in {time}, {decodes} of them decodes.",
        len(run.passes),
    ).format(n=len(run.passes), time=milliseconds(run.passes[-1].end_ns), decodes=decodes)


def _emitted(one: Pass) -> str:
    return plotly_text(" ".join(token_label(emission.token.text) for emission in one.emitted), longest=12)


def _table(passes: Sequence[Pass]) -> dict[str, list[object]]:
    return {
        _("pass"): [one.number + 1 for one in passes],
        _("phase"): [one.phase for one in passes],
        _("tokens in"): [len(one.token_ids) for one in passes],
        _("start (ms)"): [round(one.start_ns / 1e6, 3) for one in passes],
        _("duration (ms)"): [round((one.end_ns - one.start_ns) / 1e6, 3) for one in passes],
        _("token out"): [" ".join(token_label(out.token.text) for out in one.emitted) for one in passes],
    }
