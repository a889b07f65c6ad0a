"""What the components of ours on a page were given."""

from __future__ import annotations

import json
from typing import Any

from streamlit.testing.v1 import AppTest


def flipbooks(page: AppTest) -> list[dict[str, Any]]:
    """The data of each flipbook, in the page's order."""
    return _given(page, "twospeeds_flipbook")


def flipbook(page: AppTest) -> dict[str, Any]:
    """The data of the one flipbook on the page."""
    (given,) = flipbooks(page)
    return given


def charts(page: AppTest) -> list[dict[str, Any]]:
    """The data of each Plotly figure, in the page's order."""
    return _given(page, "twospeeds_chart")


def _given(page: AppTest, component: str) -> list[dict[str, Any]]:
    found = [one.proto for one in page.get("bidi_component")]
    return [json.loads(proto.json) for proto in found if proto.component_name == component]
