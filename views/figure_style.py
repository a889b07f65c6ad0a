"""How every Plotly figure looks and stands on a page: our colours, no tool bar, a description, a table.

`theme=None` keeps Streamlit from recolouring what has a meaning. A figure stands still; what moves is the flipbook.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import plotly.graph_objects as go
import plotly.io as pio
import streamlit as st
from plotly.io.json import to_json_plotly

from engine.account.record import Phase
from views.chart import chart
from views.conditions import Condition
from views.evidence import Evidence, evidence_row
from views.figure_margins import Spec, with_room
from views.numbers_table import numbers_table
from views.palette import Theme
from views.staged_figure import staged

TEXT: dict[Theme, str] = {"light": "#0f172a", "dark": "#e8ecf8"}
FAINT: dict[Theme, str] = {"light": "#475569", "dark": "#a8b3cf"}
GRID: dict[Theme, str] = {"light": "#e2e8f0", "dark": "#2b3860"}

ON_COLOUR: dict[Theme, str] = {"light": "#ffffff", "dark": "#0b1020"}
"""Words on a block of one of the five colours, and the lines between blocks."""

PATTERNS: dict[Phase, str] = {"prefill": "", "decode": "/"}

# Every figure gets `_template`; Plotly's own would be copied into it first.
pio.templates.default = None

_FONT = '"Source Sans", system-ui, sans-serif'
"""The page's own font, which Streamlit serves."""


@dataclass(frozen=True)
class Drawn:
    """A figure with all that stands around it."""

    spec: Spec | go.Figure
    title: str
    description: str
    """What it shows, in a sentence or two, for whoever cannot see it."""
    evidence: Evidence
    how: str
    """Markdown: how its numbers were made."""
    table: Mapping[str, Sequence[Any]]
    """The same numbers as columns."""
    note: str = ""
    """A line under the figure that belongs to reading it."""
    found: Condition | None = None
    """Whether its times were taken alone or under load; None where it is not about the times of one run."""

    @cached_property
    def figure(self) -> go.Figure:
        """Plotly's own object. Raises ValueError for what Plotly does not know."""
        return go.Figure(self.spec)

    @cached_property
    def source(self) -> str:
        """The figure as it travels to the page that is being drawn."""
        return travelling(self.spec)


def travelling(figure: Spec | go.Figure) -> str:
    """Plotly's JSON of a figure with room for its words and, on a stage, with larger ones."""
    spec = figure.to_dict() if isinstance(figure, go.Figure) else figure
    return to_json_plotly(staged(with_room(spec)))


def phase_pattern(phase: Phase) -> dict[str, Any]:
    """A second sign beside the colour of a bar: prefill is solid, decode is hatched."""
    return {"shape": PATTERNS[phase], "fillmode": "overlay", "size": 7, "solidity": 0.12}


@cache
def _checked_template(theme: Theme) -> go.layout.Template:
    """For figures that are Plotly's objects: checked and copied once, where settings on every figure's own axes took
    longer than all the rest of drawing it.
    """
    return go.layout.Template(_template(theme))


def _template(theme: Theme) -> Spec:
    """What all figures have in common; it replaces Plotly's, which travels with every figure."""
    axis = {
        "gridcolor": GRID[theme], "linecolor": GRID[theme], "zeroline": False, "automargin": True,
        "ticklabelstandoff": 4,
        "tickfont": {"color": FAINT[theme], "size": 13}, "title": {"font": {"color": FAINT[theme], "size": 13}},
        "fixedrange": True,
    }  # fmt: skip
    layout = {
        "margin": {"l": 58, "r": 20, "t": 12, "b": 48},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": _FONT, "color": TEXT[theme], "size": 14},
        "hoverlabel": {"font": {"family": _FONT, "size": 13}, "align": "left"},
        "dragmode": False,
        "showlegend": False,
        "xaxis": axis,
        "yaxis": axis,
    }
    return {"layout": layout}


def whole_figure(traces: Sequence[dict[str, Any]], layout: dict[str, Any], theme: Theme, height: int) -> Spec:
    """A figure in the house's look, made at once, as it will travel. Plotly's own object would check and copy every
    value of it, which took as long as all else that a page does for an answer; the tests have it checked
    (`Drawn.figure`). A trace names its `type`.
    """
    return {"data": list(traces), "layout": {"template": _template(theme), "height": height, **layout}}


def styled(figure: go.Figure, theme: Theme, height: int) -> go.Figure:
    """The house's look on a figure: transparent ground, quiet grid, no drag, labels readable at 390 px."""
    figure.layout.template = _checked_template(theme)
    figure.layout.height = height
    return figure


def made(*drawn: Drawn | None) -> None:
    """Make what will travel, before anything else on the page is drawn.

    What Streamlit sends goes out every few milliseconds, and for each portion its browser side draws the whole page
    anew. So whatever takes time comes first, and then everything goes out at once.
    """
    for one in filter(None, drawn):
        one.source  # noqa: B018  (kept from now on)


def show(drawn: Drawn, *, key: str) -> None:
    """Put a figure on the page with its title, evidence and table."""
    made(drawn)
    st.subheader(drawn.title, anchor=False)
    chart(drawn.source, key=f"plot-{key}", description=drawn.description)
    if drawn.note:
        st.caption(drawn.note)
    evidence_row(drawn.evidence, drawn.how, key=key, found=drawn.found)
    numbers_table(drawn.table, key=key)
