"""Distributions as a few marks on a line: median, 90th and 99th percentile and the worst, a row for each group."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor, log10
from typing import Any, NamedTuple

from engine.account.distribution import Distribution
from lessons.filters import milliseconds
from views.evidence import Evidence
from views.figure_panels import Panel as Stacked
from views.figure_panels import axis_number, panels_layout
from views.figure_style import FAINT, Drawn, whole_figure
from views.palette import COLOURS, Meaning, Theme
from views.words import N_, Words, _

ROW_PX = 40
TOP_PX = 78
MARKS = (("p50", "circle", "●"), ("p90", "diamond", "◆"), ("p99", "square", "■"), ("max", "x", "✕"))
"""Which values are marked, each with a shape of its own: its name at Plotly, and the same as a letter."""


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
    height = TOP_PX + 24 + sum(size + 84 for size in sizes)
    low, high = _decades(panels)
    x = {"type": "log", "range": [low - 0.06, high + 0.06], "dtick": 1}
    y = {"autorange": "reversed", "showgrid": False}
    stacked = [Stacked(panel.title, size, dict(x), y) for panel, size in zip(panels, sizes, strict=True)]
    stacked[-1].x["title"] = {"text": _("ms")}
    layout = panels_layout(stacked, min(0.4, 100 / height), theme, title_shift=15)
    traces = [_marks(panel, axis_number(place), theme) for place, panel in enumerate(panels, start=1)]
    means = [(place, panel.mean_ns / 1e6) for place, panel in enumerate(panels, start=1) if panel.mean_ns is not None]
    layout["shapes"] = [_mean_line(place, mean_ms, theme) for place, mean_ms in means]
    layout["annotations"] += [_legend(), *(_mean_label(place, mean_ms, theme) for place, mean_ms in means)]
    layout["margin"] = {"t": TOP_PX}
    figure = whole_figure(traces, layout, theme, height)
    return Drawn(figure, title, _description(panels), evidence, how, percentile_table(panels), note)


def _marks(panel: Panel, number: str, theme: Theme) -> dict[str, Any]:
    """A line from the median to the worst of each row with the marks on it; one trace, since each takes Plotly time."""
    colour = COLOURS[theme][panel.meaning]
    words, symbols = zip(*((_MARK_WORDS[mark], symbol) for mark, symbol, _sign in MARKS), strict=True)
    times = [[_ms(getattr(values, mark)) for mark, _symbol, _sign in MARKS] for _label, values in panel.rows]
    n = len(panel.rows)
    return {
        "type": "scatter", "mode": "lines+markers", "xaxis": f"x{number}", "yaxis": f"y{number}",
        "line": {"color": colour, "width": 2},
        "x": [x for row in times for x in (*row, None)],  # the line breaks off behind each row
        "y": [y for row in panel.rows for y in (_row_label(row),) * (len(MARKS) + 1)],
        "marker": {"symbol": [*symbols, "circle"] * n, "size": 10, "color": colour},
        "customdata": [*words, ""] * n,
        "hovertemplate": "%{customdata}: %{x:.1f} ms<extra></extra>",
    }  # fmt: skip


def _row_label(row: tuple[str, Distribution]) -> str:
    return _("{label}<br>n = {n}").format(label=row[0], n=f"{row[1].n:,}")


def _legend() -> dict[str, Any]:
    """What the marks say, in one line above all; Plotly's own legend takes as long to draw as the panels."""
    return {
        "text": "   ".join(f"{sign} {_MARK_WORDS[mark]}" for mark, _symbol, sign in MARKS), "font": {"size": 14},
        "x": 0, "xref": "paper", "xanchor": "left", "y": 1, "yref": "paper", "yanchor": "bottom",
        "yshift": TOP_PX - 30, "showarrow": False,
    }  # fmt: skip


def _mean_line(place: int, mean_ms: float, theme: Theme) -> dict[str, Any]:
    number = axis_number(place)
    return {
        "type": "line", "x0": mean_ms, "x1": mean_ms, "y0": 0, "y1": 1, "xref": f"x{number}",
        "yref": f"y{number} domain", "line": {"dash": "dot", "width": 2, "color": FAINT[theme]},
    }  # fmt: skip


def _mean_label(place: int, mean_ms: float, theme: Theme) -> dict[str, Any]:
    number = axis_number(place)
    return {
        "text": _("mean {time}").format(time=milliseconds(mean_ms * 1e6)), "x": log10(mean_ms), "y": 1,
        "xref": f"x{number}", "yref": f"y{number} domain", "yanchor": "bottom", "showarrow": False,
        "font": {"size": 12, "color": FAINT[theme]},
    }  # fmt: skip


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
