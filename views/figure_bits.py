"""Weights in fewer bits: what a model takes under each scheme, and a few real weights before and after rounding."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.account.bits import SCHEMES, stored
from engine.account.presets import Hardware
from engine.account.record import ModelShape
from engine.account.weight_group import Floats, as_int4, as_int8
from lessons.filters import decimal_bytes, significant
from views import engine_words
from views.figure_shared_read import UNITS
from views.figure_style import GRID, TEXT, Drawn, whole_figure
from views.palette import COLOURS, Theme
from views.words import _


def bytes_figure(shape: ModelShape, machine: Hardware, theme: Theme) -> Drawn:
    """A bar for each scheme, on an axis from 0."""
    rows = [stored(shape, scheme, machine) for scheme in SCHEMES]
    names = [engine_words.told(row.scheme.name) for row in rows]
    top = rows[0].weight_bytes
    unit, size = next(one for one in UNITS if top >= one[1])
    bars = {
        "type": "bar", "orientation": "h", "name": _("weights"), "marker": {"color": COLOURS[theme]["weights"]},
        "y": [row.scheme.label for row in rows], "x": [row.weight_bytes / size for row in rows],
        "text": [f"{decimal_bytes(row.weight_bytes)}, {row.scheme.bits_a_weight:g} bits" for row in rows],
        "textposition": "outside", "cliponaxis": False, "textfont": {"color": TEXT[theme], "size": 14},
        "hoverinfo": "skip",
    }  # fmt: skip
    layout = {
        "xaxis": {"title": {"text": unit}, "range": [0, top / size * 1.5]},
        "yaxis": {"autorange": "reversed", "type": "category"},
    }
    figure = whole_figure([bars], layout, theme, height=300)
    return Drawn(
        spec=figure,
        title=_("The same weights, stored in fewer bits"),
        description="; ".join(
            f"{name}: {decimal_bytes(row.weight_bytes)}" for name, row in zip(names, rows, strict=True)
        )
        + ".",
        evidence="computed",
        how=_(
            "Weights × bits a weight ÷ 8, every matrix stored alike. Bits a weight: its own, and its part of the scale "
            "(and zero) of its group. The time is the least for a decode step of one sequence at token 500: the larger "
            "of bytes ÷ bandwidth and operations ÷ peak on {machine} ({source}, {dated})."
        ).format(machine=machine.name, source=engine_words.told(machine.source), dated=machine.dated),
        note=_(
            "s: a scale of 16 bits, z: a zero of 16 bits, and how many weights share them. Bits a weight: all counted."
        ),
        table={
            _("how a weight is stored"): names,
            _("bits a weight"): [row.scheme.bits_a_weight for row in rows],
            _("bytes held"): [row.weight_bytes for row in rows],
            _("weight bytes read a step"): [row.step_bytes for row in rows],
            _("step on {machine}, at least (ms)").format(machine=machine.name): [
                float(f"{row.step_ns / 1e6:.4g}") for row in rows
            ],
        },
    )  # fmt: skip


def group_figure(row: Floats, start: int, bits: int, theme: Theme) -> Drawn:
    """64 neighbouring weights of a real row as they are, and as 8 or 4 bits give them back."""
    group = row[start : start + GROUP]
    if bits == 8:
        whole, scale = as_int8(row)
        back, levels = whole[start : start + GROUP], None
        told = _("one scale for the whole row: {scale}").format(scale=significant(scale))
    else:
        back, scale, zero = as_int4(group)
        levels = (np.arange(16) - 8) * scale + zero
        told = _("16 levels, {scale} apart").format(scale=significant(scale))
    places = list(range(start, start + len(group)))
    traces = [
        _points(places, group, _("in bf16"), COLOURS[theme]["weights"], "circle-open", 9),
        _points(places, back, _("from {n} bits").format(n=bits), TEXT[theme], "x-thin-open", 7),
    ]
    if levels is not None:
        traces.insert(0, _levels(levels, start, start + len(group), theme))
    reach = float(np.abs(np.concatenate([group, back])).max()) * 1.08 or 1.0
    layout = {
        "xaxis": {"title": {"text": _("place in the row")}, "range": [start - 1, start + len(group)]},
        "yaxis": {"title": {"text": _("weight")}, "range": [-reach, reach], "showgrid": False},
        "showlegend": True,
        "legend": {"orientation": "h", "yanchor": "bottom", "y": 1.02, "x": 0, "font": {"size": 13}},
    }
    figure = whole_figure(traces, layout, theme, height=320)
    error = float(np.sqrt(np.mean((back - group) ** 2)) / (np.sqrt(np.mean(group**2)) or 1.0))
    return Drawn(
        spec=figure,
        title=_("{n} real weights, and what is left of them").format(n=len(group)),
        description=_("Weights between {low} and {high}; {told}.").format(
            low=significant(float(group.min())), high=significant(float(group.max())), told=told
        ),
        evidence="computed",
        how=_(
            "Read from the story model's checkpoint and rounded to the nearest level as the engine does it: in 8 bits "
            "one scale a row, in 4 bits a scale and a zero for every {n} weights."
        ).format(n=GROUP),
        table={_("place"): places, _("bf16"): [float(x) for x in group], _("back"): [float(x) for x in back]},
        note=_("{told}. Root mean square of the error: {error} of that of the weights.").format(
            told=told[0].upper() + told[1:], error=f"{error * 100:.1f} %"
        ),
    )


GROUP = 64
"""Weights that share a scale and a zero in the engine's 4 bits."""


def _levels(levels: Floats, left: int, right: int, theme: Theme) -> dict[str, Any]:
    """A thin line across for each, all as one trace: a missing number parts two of them."""
    ends = [(left - 1, right, None) for _level in levels]
    heights = [(float(level), float(level), None) for level in levels]
    return {
        "type": "scatter", "mode": "lines", "name": _("levels"), "hoverinfo": "skip",
        "x": [x for three in ends for x in three], "y": [y for three in heights for y in three],
        "line": {"color": GRID[theme], "width": 1},
    }  # fmt: skip


def _points(x: list[int], y: Floats, name: str, colour: str, symbol: str, size: int) -> dict[str, Any]:
    return {
        "type": "scatter", "mode": "markers", "name": name, "x": x, "y": [float(one) for one in y],
        "marker": {"color": colour, "symbol": symbol, "size": size, "line": {"width": 2, "color": colour}},
        "hovertemplate": "%{x}: %{y:.4f}<extra></extra>",
    }  # fmt: skip
