"""A run from outside on a time axis: the wait for the first chunk, then the gaps between chunks, to scale."""

from __future__ import annotations

import plotly.graph_objects as go

from engine.account.outside_record import OutsideRun
from engine.account.record import Phase
from lessons.filters import milliseconds
from views.figure_style import ON_COLOUR, Drawn, phase_pattern, styled
from views.lanes import Span, lane_of
from views.palette import COLOURS, Theme
from views.safe_text import code_span, plotly_text
from views.words import _

_SEPARATE = 150
"""Up to so many blocks there is room for hatching and a line between them."""


def chunks_figure(run: OutsideRun, theme: Theme) -> Drawn:
    """Arrivals of a run that has at least one chunk."""
    spans = lane_of(run).spans
    figure = go.Figure(
        [
            _blocks(spans[1:], "decode", _("between chunks"), theme),
            _blocks(spans[:1], "prefill", _("first chunk"), theme),
        ]
    )
    styled(figure, theme, height=190)
    figure.update_layout(bargap=0.25, barmode="overlay")
    figure.update_xaxes(title_text=_("ms since the request was sent"), range=[0, spans[-1].end_ns / 1e6 * 1.02])
    figure.update_yaxes(showgrid=False, tickfont_size=14)
    n = len(spans)
    return Drawn(
        spec=figure,
        title=_("When each chunk came"),
        description=_("{n} chunks in {time}, the first after {first}.").format(
            n=n, time=milliseconds(spans[-1].end_ns), first=milliseconds(spans[0].end_ns)
        ),
        evidence="outside",
        how=_(
            "This app's monotonic clock, read when the request was sent and whenever a piece of text arrived from "
            "{server}. The first block is queue, prefill and network together; it has the colour of prefill, which is "
            "usually most of it."
        ).format(server=code_span(run.header.server)),
        table={
            _("chunk"): [place + 1 for place in range(n)],
            _("came after (ms)"): [round(span.end_ns / 1e6, 3) for span in spans],
            _("gap (ms)"): [None, *(round((span.end_ns - span.start_ns) / 1e6, 3) for span in spans[1:])],
            _("text"): [span.came for span in spans],
        },
    )


def _blocks(spans: tuple[Span, ...], phase: Phase, name: str, theme: Theme) -> go.Bar:
    separate = len(spans) <= _SEPARATE
    return go.Bar(
        name=name, orientation="h", y=[name] * len(spans),
        base=[span.start_ns / 1e6 for span in spans],
        x=[(span.end_ns - span.start_ns) / 1e6 for span in spans],
        marker={
            "color": COLOURS[theme][phase],
            "line": {"width": 1 if separate else 0, "color": ON_COLOUR[theme]},
            "pattern": phase_pattern(phase) if separate else None,
        },
        customdata=[[plotly_text(span.came)] for span in spans],
        hovertemplate="%{x:.2f} ms<br>%{customdata[0]}<extra></extra>",
    )  # fmt: skip
