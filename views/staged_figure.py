"""A figure for a projector: on a stage, where the page's own type is twice as large, its words grow as well."""

from __future__ import annotations

import plotly.graph_objects as go
import streamlit as st
from plotly.basedatatypes import BaseTraceType

from views.figure_margins import Spec

LARGER = 1.6
"""Of words, of the room around them, and of the height that they need."""

_BODY, _AXIS = 14, 13
"""Sizes of words that a figure leaves as they are (pixels)."""


def staged(spec: Spec) -> Spec | go.Figure:
    """The figure as it stands on a page; on a stage (`?present=1`), with larger words."""
    return _enlarged(spec) if st.query_params.get("present") == "1" else spec


def _enlarged(figure: Spec | go.Figure) -> go.Figure:
    large = go.Figure(figure)
    layout = large.layout
    own, common = layout.margin, layout.template.layout.margin
    margin = {side: LARGER * (getattr(own, side) or getattr(common, side) or 0) for side in "lrtb"}
    large.update_layout(
        height=LARGER * (layout.height or 450), margin=margin, font_size=LARGER * (layout.font.size or _BODY)
    )
    if layout.legend.font.size:
        large.update_layout(legend_font_size=LARGER * layout.legend.font.size)
    for axes in (large.for_each_xaxis, large.for_each_yaxis):
        axes(_enlarge_axis)
    large.for_each_annotation(_enlarge_annotation)
    large.for_each_trace(_enlarge_words)
    return large


def _enlarge_axis(axis: go.layout.XAxis | go.layout.YAxis) -> None:
    axis.tickfont.size = LARGER * (axis.tickfont.size or _AXIS)
    axis.title.font.size = LARGER * (axis.title.font.size or _AXIS)


def _enlarge_annotation(note: go.layout.Annotation) -> None:
    """Its words, and how far they stand from what they are about."""
    note.font.size = LARGER * (note.font.size or _BODY)
    for name in ("ax", "ay", "xshift", "yshift", "standoff"):
        if distance := note[name]:
            note[name] = LARGER * distance


def _enlarge_words(trace: BaseTraceType) -> None:
    for name in ("textfont", "insidetextfont", "outsidetextfont"):
        if name in trace and isinstance(size := trace[name].size, (int, float)):
            trace[name].size = LARGER * size
