"""Room around a figure for its labels and its legend, before it is drawn.

Plotly measures what it has written and then draws everything a second time with wider margins (`automargin`). Where
the room is there from the start it draws once, in half the time. What is longer than expected here still finds room.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import plotly.graph_objects as go

LETTER_PX, BESIDE_PX = 6, 15
"""Of a label on the left axis: the width of a letter at the size that figures have, and what stands between it and the
edges on either side.
"""
LEGEND_PX = 48
"""Above the figure, for a legend of one line."""
TAG = re.compile("<[^>]+>")


def with_room(figure: go.Figure) -> go.Figure:
    """The figure itself, with room for its names on the left and for its legend, unless it brings its own."""
    layout, common = figure.layout, figure.layout.template.layout.margin
    if layout.margin.l is None:
        letters = max((len(line) for line in _lines(figure)), default=0)
        layout.margin.l = max(common.l or 0, LETTER_PX * letters + BESIDE_PX if letters else 0)
    if layout.margin.t is None and layout.showlegend:
        layout.margin.t = max(common.t or 0, LEGEND_PX)
    return figure


def _lines(figure: go.Figure) -> Iterator[str]:
    """Every line beside the left axes where words stand there and not numbers."""
    for name in _names(figure):
        yield from TAG.sub("", name.replace("<br>", "\n")).splitlines()


def _names(figure: go.Figure) -> Iterator[str]:
    for trace in figure.data:
        values = getattr(trace, "y", None)
        yield from (value for value in (() if values is None else values) if isinstance(value, str))
    for axis in figure.select_yaxes():
        yield from (str(text) for text in axis.ticktext or () if axis.visible is not False)
