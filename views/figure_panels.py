"""Panels under each other in one figure, each with its own axes and a title at its left: their part of a layout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from views.figure_style import TEXT
from views.palette import Theme


class Panel(NamedTuple):
    """One of them, from the top."""

    title: str
    size: float
    """How much of the height it takes, against the others."""
    x: dict[str, Any]
    """Settings of its axes."""
    y: dict[str, Any]


def axis_number(place: int) -> str:
    """What stands after x and y in the names of a panel's axes; places count from 1."""
    return "" if place == 1 else str(place)


def panels_layout(panels: Sequence[Panel], spacing: float, theme: Theme, *, title_shift: int = 0) -> dict[str, Any]:
    """The axes and the titles. `spacing` is the share of the height between two; a shift lifts the titles (pixels)."""
    total = sum(panel.size for panel in panels)
    room = 1 - spacing * (len(panels) - 1)
    layout: dict[str, Any] = {"annotations": []}
    top = 1.0
    for place, panel in enumerate(panels, start=1):
        number, low = axis_number(place), max(0.0, top - room * panel.size / total)
        layout[f"xaxis{number}"] = {"anchor": f"y{number}", "domain": [0.0, 1.0], **panel.x}
        layout[f"yaxis{number}"] = {"anchor": f"x{number}", "domain": [low, top], **panel.y}
        layout["annotations"].append(
            {
                "text": panel.title, "font": {"size": 14, "color": TEXT[theme]}, "showarrow": False,
                "x": 0, "xref": "paper", "xanchor": "left",
                "y": top, "yref": "paper", "yanchor": "bottom", "yshift": title_shift,
            }
        )  # fmt: skip
        top = low - spacing
    return layout
