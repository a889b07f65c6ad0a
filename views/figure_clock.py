"""Two runs on one clock: a lane each, from the moment each was asked, and what had come by when."""

from __future__ import annotations

from collections.abc import Mapping

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from engine.account.record import Phase
from lessons.filters import milliseconds
from views.evidence import Evidence
from views.figure_style import FAINT, GRID, ON_COLOUR, TEXT, Drawn, phase_pattern, styled
from views.lanes import NAMES, Lane, Span
from views.palette import COLOURS, Theme
from views.safe_text import plotly_text
from views.words import _

_SEPARATE_BLOCKS = 150
_PHASES: tuple[Phase, ...] = ("prefill", "decode")


def clock_figure(lanes: Mapping[str, Lane], theme: Theme, *, evidence: Evidence, how: str) -> Drawn:
    """The lanes by name; each has at least one block."""
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, row_heights=[0.4, 0.6], vertical_spacing=0.06)
    _add_blocks(figure, lanes, theme)
    in_tokens = all(lane.tokens is not None for lane in lanes.values())
    for dash, (name, lane) in zip(("solid", "dash"), lanes.items(), strict=True):
        steps = lane.tokens if in_tokens and lane.tokens is not None else lane.characters
        _add_steps(figure, name, steps, dash, theme)
    styled(figure, theme, height=420)
    end_ms = max(lane.end_ns for lane in lanes.values()) / 1e6
    figure.update_layout(barmode="overlay", bargap=0.3, margin_t=48)
    figure.update_layout(showlegend=True, legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0})
    figure.update_xaxes(range=[0, end_ms * 1.02])
    figure.update_xaxes(title_text=_("ms since each was asked"), row=2, col=1)
    figure.update_yaxes(showgrid=False, autorange="reversed", row=1, col=1)
    figure.update_yaxes(title_text=_("new tokens") if in_tokens else _("characters"), rangemode="tozero", row=2, col=1)
    return Drawn(
        spec=figure, title=_("On one clock"), description=_description(lanes), evidence=evidence, how=how,
        table=_table(lanes),
    )  # fmt: skip


def _add_blocks(figure: go.Figure, lanes: Mapping[str, Lane], theme: Theme) -> None:
    separate = max(len(lane.spans) for lane in lanes.values()) <= _SEPARATE_BLOCKS
    line = {"width": 1 if separate else 0, "color": ON_COLOUR[theme]}
    for phase in _PHASES:
        marker = {"color": COLOURS[theme][phase], "line": line, "pattern": phase_pattern(phase) if separate else None}
        _add_bars(figure, _of(lanes, phase), NAMES[phase], marker)
    # Waiting costs nothing and has none of the five colours: an empty frame.
    waiting = {"color": GRID[theme], "line": {"width": 1, "color": FAINT[theme]}}
    if waits := _of(lanes, "queue"):
        _add_bars(figure, waits, NAMES["queue"], waiting)


def _of(lanes: Mapping[str, Lane], doing: str) -> list[tuple[str, Span]]:
    return [(name, span) for name, lane in lanes.items() for span in lane.spans if span.doing == doing]


def _add_bars(figure: go.Figure, blocks: list[tuple[str, Span]], name: str, marker: Mapping[str, object]) -> None:
    figure.add_trace(
        go.Bar(
            name=name, orientation="h", marker=marker,
            base=[span.start_ns / 1e6 for _name, span in blocks],
            x=[(span.end_ns - span.start_ns) / 1e6 for _name, span in blocks],
            y=[lane for lane, _span in blocks],
            customdata=[[plotly_text(span.came)] for _name, span in blocks],
            hovertemplate="%{x:.2f} ms<br>%{customdata[0]}<extra>" + name + "</extra>",
        ),
        row=1, col=1,
    )  # fmt: skip


def _add_steps(figure: go.Figure, name: str, steps: tuple[tuple[int, int], ...], dash: str, theme: Theme) -> None:
    figure.add_trace(
        go.Scatter(
            name=name, x=[ns / 1e6 for ns, _n in steps], y=[n for _ns, n in steps], mode="lines",
            line={"shape": "hv", "width": 2.5, "dash": dash, "color": TEXT[theme]},
            hovertemplate="%{x:.1f} ms · %{y}<extra>" + name + "</extra>",
        ),
        row=2, col=1,
    )  # fmt: skip


def _description(lanes: Mapping[str, Lane]) -> str:
    told = [
        _("{name} ended after {time}").format(name=name, time=milliseconds(lane.end_ns)) for name, lane in lanes.items()
    ]
    return "; ".join(told) + "."


def _table(lanes: Mapping[str, Lane]) -> dict[str, list[object]]:
    rows = [(name, span) for name, lane in lanes.items() for span in lane.spans]
    return {
        _("run"): [name for name, _span in rows],
        _("phase"): [NAMES[span.doing] for _name, span in rows],
        _("tokens in"): [span.tokens_in for _name, span in rows],
        _("start (ms)"): [round(span.start_ns / 1e6, 3) for _name, span in rows],
        _("duration (ms)"): [round((span.end_ns - span.start_ns) / 1e6, 3) for _name, span in rows],
        _("came"): [span.came for _name, span in rows],
    }
