"""The trade of chunked prefill: how long decoders stall and how long the long prompt waits, over the chunk size."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor, log10
from typing import Any

from lessons.filters import milliseconds
from views.collision_scene import Outcome
from views.evidence import Evidence
from views.figure_style import FAINT, Drawn, whole_figure
from views.palette import COLOURS, Meaning, Theme
from views.words import N_, _


def trade_figure(outcomes: Sequence[Outcome], theme: Theme, *, evidence: Evidence, how: str) -> Drawn:
    """Two lines over chunk sizes, ascending, the whole prompt last. The dotted line is a gap with nobody else there."""
    ordered = sorted(outcomes, key=lambda one: one.chunk or float("inf"))
    labels = [_("whole") if one.chunk is None else f"{one.chunk:,}" for one in ordered]
    lines: list[tuple[str, list[int], Meaning, str, str]] = [
        (_(_TTFT), [one.ttft_ns for one in ordered], "prefill", "solid", "circle"),
        (_(_STALL), [one.stall_ns for one in ordered], "decode", "dash", "square"),
    ]
    traces = [
        {
            "type": "scatter", "mode": "lines+markers", "name": name,
            "x": labels, "y": [value / 1e6 for value in values],
            "line": {"color": COLOURS[theme][meaning], "width": 2.5, "dash": dash},
            "marker": {"symbol": symbol, "size": 9}, "hovertemplate": "%{x}: %{y:.1f} ms<extra>" + name + "</extra>",
        }
        for name, values, meaning, dash, symbol in lines
    ]  # fmt: skip
    plain = ordered[-1].plain_gap_ns
    low, high = _decades([plain, *(v for one in ordered for v in (one.ttft_ns, one.stall_ns))])
    layout = {
        "showlegend": True, "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
        "xaxis": {"title": {"text": _("prompt tokens a step, at most")}, "type": "category"},
        "yaxis": {"title": {"text": _("ms")}, "type": "log", "range": [low, high], "dtick": 1},
        **_ordinary_gap(plain, theme),
    }  # fmt: skip
    figure = whole_figure(traces, layout, theme, height=320)
    said = "; ".join(
        _("{chunk}: stall {stall}, first token {wait}").format(
            chunk=label, stall=milliseconds(one.stall_ns), wait=milliseconds(one.ttft_ns)
        )
        for label, one in zip(labels, ordered, strict=True)
    )
    return Drawn(
        figure, title=_("What a chunk size trades"), description=said, evidence=evidence, how=how,
        table={
            _("prompt tokens a step"): labels,
            _("steps to read the prompt"): [one.n_prefills for one in ordered],
            _("longest gap of a decoder (ms)"): [round(one.stall_ns / 1e6, 3) for one in ordered],
            _("first token of the long prompt (ms)"): [round(one.ttft_ns / 1e6, 3) for one in ordered],
        },
    )  # fmt: skip


def _ordinary_gap(plain_ns: float, theme: Theme) -> dict[str, Any]:
    """A line across and its name. On a logarithmic axis an annotation stands at the logarithm, a line at the value."""
    line = {
        "type": "line", "x0": 0, "x1": 1, "xref": "x domain", "y0": plain_ns / 1e6, "y1": plain_ns / 1e6,
        "line": {"dash": "dot", "width": 1, "color": FAINT[theme]},
    }  # fmt: skip
    name = {
        "x": 1, "xref": "x domain", "xanchor": "right", "y": log10(plain_ns / 1e6), "yanchor": "bottom",
        "showarrow": False, "text": _("an ordinary gap: {time}").format(time=milliseconds(plain_ns)),
        "font": {"size": 13, "color": FAINT[theme]},
    }  # fmt: skip
    return {"shapes": [line], "annotations": [name]}


def _decades(values_ns: Sequence[float]) -> tuple[float, float]:
    """Whole powers of ten, in ms, that hold all values."""
    low, high = floor(log10(min(values_ns) / 1e6)), ceil(log10(max(values_ns) / 1e6))
    return low, max(high, low + 1)


_TTFT = N_("first token of the long prompt")
_STALL = N_("longest gap of a decoder")
