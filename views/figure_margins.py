"""Room around a figure for its labels and its legend, before it is drawn.

Plotly measures what it has written and then draws everything a second time with wider margins (`automargin`). Where
the room is there from the start it draws once, in half the time. What is longer than expected here still finds room.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

Spec = dict[str, Any]
"""A figure as Plotly's JSON has it: `data`, a list of traces, and `layout`."""

LETTER_PX, BESIDE_PX = 6, 15
"""Of a label on the left axis: the width of a letter at the size that figures have, and what stands between it and the
edges on either side.
"""
LEGEND_PX = 48
"""Above the figure, for a legend of one line."""
TAG = re.compile("<[^>]+>")


def with_room(spec: Spec) -> Spec:
    """The figure with room for its names on the left and for its legend, unless it brings its own."""
    layout = spec["layout"]
    margin, common = layout.get("margin", {}), layout["template"]["layout"]["margin"]
    room = {}
    if letters := max((len(line) for line in _lines(spec)), default=0):
        room["l"] = max(common["l"], LETTER_PX * letters + BESIDE_PX)
    if layout.get("showlegend"):
        room["t"] = max(common["t"], LEGEND_PX)
    return {**spec, "layout": {**layout, "margin": {**room, **margin}}}


def _lines(spec: Spec) -> Iterator[str]:
    """Every line beside the left axes where words stand there and not numbers."""
    for name in _names(spec):
        yield from TAG.sub("", name.replace("<br>", "\n")).splitlines()


def _names(spec: Spec) -> Iterator[str]:
    for trace in spec["data"]:
        values = trace.get("y")
        if isinstance(values, Iterable) and not isinstance(values, Mapping):  # of numbers Plotly makes a mapping
            yield from (value for value in values if isinstance(value, str))
    for name, axis in spec["layout"].items():
        if name.startswith("yaxis") and axis.get("visible") is not False:
            yield from map(str, axis.get("ticktext") or ())
