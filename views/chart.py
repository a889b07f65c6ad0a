"""A Plotly figure in a page: a component that changes its picture where it stands (views/assets/chart).

Streamlit's own chart is taken off the page and put there anew at every change, which flickers, and is drawn twice each
time; on two cores without a GPU that was most of the time in which an instrument answers. Plotly's code is the one that
comes with its Python package.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import streamlit as st

from views.served_files import plotly_url
from views.shim import shim
from views.words import _

_HTML = '<div class="chart" role="figure"></div>'


@cache
def _component() -> Callable[..., Any]:
    """The registered component; once a process. Its style sheet is the page's, since Plotly writes to that."""
    return st.components.v2.component(
        "twospeeds_chart", html=_HTML, js=shim("chart/chart.js", ".chart"), isolate_styles=False
    )


def chart(source: str, *, key: str, description: str) -> None:
    """Draw a figure as wide as its place and as high as its layout says.

    Args:
        source: the figure as Plotly's JSON, with its height in the layout.
        key: Streamlit's key; the picture keeps its place under it.
        description: what it shows, for whoever cannot see it.
    """
    data = {
        "figure": source,
        "description": description,
        "library": plotly_url(),
        "labels": {"load_failed": _("The picture could not be loaded. Reload the page to try again.")},
    }
    _component()(key=key, data=data)
