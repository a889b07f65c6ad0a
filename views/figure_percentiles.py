"""Distributions as a few marks on a line: median, 90th and 99th percentile and the worst, a row for each group."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor, log10
from typing import NamedTuple

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from engine.account.distribution import Distribution
from lessons.filters import milliseconds
from views.evidence import Evidence
from views.figure_style import FAINT, TEXT, Drawn, styled
from views.palette import COLOURS, Meaning, Theme
from views.words import N_, Words, _

ROW_PX = 40
MARKS = (("p50", "circle"), ("p90", "diamond"), ("p99", "square"), ("max", "x"))
"""Which values are marked, each with a shape of its own."""


class Panel(NamedTuple):
    """One part of the picture: a heading, the colour of what it measures, rows of (label, values in nanoseconds)."""

    title: str
    meaning: Meaning
    rows: Sequence[tuple[str, Distribution]]
    mean_ns: float | None = None
    """Drawn as a dotted line: the number that hides the rest."""


def percentiles_figure(
    panels: Sequence[Panel], theme: Theme, *, title: str, evidence: Evidence, how: str, note: str = ""
) -> Drawn:
    """Panels under each other with the same logarithmic axis. Groups without values are left out."""
    panels = [panel._replace(rows=[row for row in panel.rows if row[1].n]) for panel in panels]
    panels = [panel for panel in panels if panel.rows]
    sizes = [ROW_PX * len(panel.rows) + 16 for panel in panels]
    height = 122 + sum(size + 84 for size in sizes)
    figure = make_subplots(
        rows=len(panels), cols=1, row_heights=sizes, vertical_spacing=min(0.4, 100 / height),
        subplot_titles=[panel.title for panel in panels],
    )  # fmt: skip
    styled(figure, theme, height)
    span = _decades(panels)
    for place, panel in enumerate(panels, start=1):
        _draw(figure, panel, place, theme, span)
    figure.update_layout(
        showlegend=True, margin_t=98,  # on a phone the legend takes two lines
        legend={
            "orientation": "h", "x": 0, "xref": "container", "y": 1, "yref": "container", "yanchor": "top",
            "itemclick": False, "font": {"size": 13},
        },
    )  # fmt: skip
    figure.update_xaxes(title_text=_("ms"), row=len(panels), col=1)
    return Drawn(figure, title, _description(panels), evidence, how, percentile_table(panels), note)


def _draw(figure: go.Figure, panel: Panel, place: int, theme: Theme, span: tuple[int, int]) -> None:
    labels = [_("{label}<br>n = {n}").format(label=label, n=f"{values.n:,}") for label, values in panel.rows]
    colour = COLOURS[theme][panel.meaning]
    for label, (_name, values) in zip(labels, panel.rows, strict=True):
        figure.add_trace(
            go.Scatter(
                x=[_ms(values.p50), _ms(values.max)], y=[label, label], mode="lines", showlegend=False,
                line={"color": colour, "width": 2}, hoverinfo="skip",
            ),
            row=place, col=1,
        )  # fmt: skip
    for mark, symbol in MARKS:
        figure.add_trace(
            go.Scatter(
                x=[_ms(getattr(values, mark)) for _name, values in panel.rows], y=labels, mode="markers",
                name=_MARK_WORDS[mark], legendgroup=mark, showlegend=place == 1,
                marker={"symbol": symbol, "size": 10, "color": colour},
                hovertemplate=_MARK_WORDS[mark] + ": %{x:.1f} ms<extra></extra>",
            ),
            row=place, col=1,
        )  # fmt: skip
    figure.update_xaxes(type="log", range=[span[0] - 0.06, span[1] + 0.06], dtick=1, row=place, col=1)
    figure.update_yaxes(autorange="reversed", showgrid=False, row=place, col=1)
    figure.layout.annotations[place - 1].update(x=0, xanchor="left", yshift=15, font={"size": 14, "color": TEXT[theme]})
    if panel.mean_ns is not None:
        figure.add_vline(
            x=panel.mean_ns / 1e6, line_dash="dot", line_width=2, line_color=FAINT[theme], row=place, col=1
        )
        axis = "" if place == 1 else str(place)
        figure.add_annotation(
            text=_("mean {time}").format(time=milliseconds(panel.mean_ns)), font={"size": 12, "color": FAINT[theme]},
            x=log10(panel.mean_ns / 1e6), y=1, xref=f"x{axis}", yref=f"y{axis} domain", yanchor="bottom",
            showarrow=False,
        )  # fmt: skip


_MARK_WORDS = Words({"p50": "p50", "p90": "p90", "p99": "p99", "max": N_("worst")})


def _ms(value_ns: float | None) -> float | None:
    return None if value_ns is None else value_ns / 1e6


def _decades(panels: Sequence[Panel]) -> tuple[int, int]:
    """Whole powers of ten, in ms, that hold everything drawn: one span for all, so that panels compare."""
    values = [value for panel in panels for _name, one in panel.rows for value in (one.p50, one.max) if value]
    values += [panel.mean_ns for panel in panels if panel.mean_ns]
    low, high = floor(log10(min(values) / 1e6)), ceil(log10(max(values) / 1e6))
    return low, max(high, low + 1)


def _description(panels: Sequence[Panel]) -> str:
    return " ".join(
        f"{panel.title}: "
        + "; ".join(
            _("{label}: p50 {p50}, p99 {p99}, worst {worst}").format(
                label=label,
                p50=milliseconds(one.p50 or 0),
                p99=milliseconds(one.p99 or 0),
                worst=milliseconds(one.max or 0),
            )
            for label, one in panel.rows
        )
        + "."
        for panel in panels
    )


def percentile_table(panels: Sequence[Panel]) -> dict[str, list[object]]:
    """Every group a row; milliseconds."""
    rows = [(panel.title, label, one) for panel in panels for label, one in panel.rows]
    table: dict[str, list[object]] = {
        _("what"): [title for title, _label, _one in rows],
        _("of"): [label for _title, label, _one in rows],
        "n": [one.n for _title, _label, one in rows],
    }
    for name in ("p50", "p90", "p99", "max", "mean"):
        values = [getattr(one, name) for _title, _label, one in rows]
        table[f"{name} (ms)"] = [None if value is None else round(value / 1e6, 3) for value in values]
    return table
