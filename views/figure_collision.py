"""The trade of chunked prefill: how long decoders stall and how long the long prompt waits, over the chunk size."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor, log10

import plotly.graph_objects as go

from lessons.filters import milliseconds
from views.collision_scene import Outcome
from views.evidence import Evidence
from views.figure_style import FAINT, Drawn, styled
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
    figure = go.Figure()
    for name, values, meaning, dash, symbol in lines:
        figure.add_trace(
            go.Scatter(
                x=labels, y=[value / 1e6 for value in values], name=name, mode="lines+markers",
                line={"color": COLOURS[theme][meaning], "width": 2.5, "dash": dash},
                marker={"symbol": symbol, "size": 9}, hovertemplate="%{x}: %{y:.1f} ms<extra>" + name + "</extra>",
            )
        )  # fmt: skip
    plain = ordered[-1].plain_gap_ns
    styled(figure, theme, height=320)
    figure.update_layout(showlegend=True, legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"})
    figure.add_hline(y=plain / 1e6, line_dash="dot", line_width=1, line_color=FAINT[theme])
    # On a logarithmic axis an annotation stands at the logarithm, a line at the value.
    figure.add_annotation(
        x=1, xref="x domain", xanchor="right", y=log10(plain / 1e6), yanchor="bottom", showarrow=False,
        text=_("an ordinary gap: {time}").format(time=milliseconds(plain)), font={"size": 13, "color": FAINT[theme]},
    )  # fmt: skip
    figure.update_xaxes(title_text=_("prompt tokens a step, at most"), type="category")
    low, high = _decades([plain, *(v for one in ordered for v in (one.ttft_ns, one.stall_ns))])
    figure.update_yaxes(title_text=_("ms"), type="log", range=[low, high], dtick=1)
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


def _decades(values_ns: Sequence[float]) -> tuple[float, float]:
    """Whole powers of ten, in ms, that hold all values."""
    low, high = floor(log10(min(values_ns) / 1e6)), ceil(log10(max(values_ns) / 1e6))
    return low, max(high, low + 1)


_TTFT = N_("first token of the long prompt")
_STALL = N_("longest gap of a decoder")
