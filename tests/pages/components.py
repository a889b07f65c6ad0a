"""What the components of ours on a page were given, and what our HTML on it says."""

from __future__ import annotations

import html
import json
import re
from typing import Any

import plotly.graph_objects as go
from streamlit.testing.v1 import AppTest


def flipbooks(page: AppTest) -> list[dict[str, Any]]:
    """The data of each flipbook, in the page's order."""
    return _given(page, "twospeeds_flipbook")


def flipbook(page: AppTest) -> dict[str, Any]:
    """The data of the one flipbook on the page."""
    (given,) = flipbooks(page)
    return given


def sketch(page: AppTest) -> dict[str, Any]:
    """The data of the one curve to draw on the page."""
    (given,) = _given(page, "twospeeds_sketch")
    return given


def charts(page: AppTest) -> list[dict[str, Any]]:
    """The data of each Plotly figure, in the page's order; Plotly knows every setting in them."""
    found = _given(page, "twospeeds_chart")
    for given in found:
        go.Figure(json.loads(given["figure"]))  # raises ValueError for one that it does not know
    return found


_CARD = re.compile(r'<dt>(.*?)</dt><dd class="ts-(?:value|words)">(.*?)</dd>(?:<dd>([^<]*)</dd>)?', re.DOTALL)


def cards(page: AppTest) -> list[tuple[str, str, str]]:
    """Label, value or words, and small print of each card, in the page's order; a blank value is empty."""
    found = [one for element in page.html for one in _CARD.findall(element.value)]
    return [(html.unescape(label), spoken(value).strip(), html.unescape(note)) for label, value, note in found]


def card_values(page: AppTest) -> dict[str, str]:
    """Label -> value of the cards."""
    return {label: value for label, value, _note in cards(page)}


def spoken(body: str) -> str:
    """What a piece of HTML says; styles and scripts say nothing."""
    return html.unescape(re.sub(r"<(style|script).*?</\1>|<[^>]*>", " ", body, flags=re.DOTALL))


def _given(page: AppTest, component: str) -> list[dict[str, Any]]:
    found = [one.proto for one in page.get("bidi_component")]
    return [json.loads(proto.json) for proto in found if proto.component_name == component]
