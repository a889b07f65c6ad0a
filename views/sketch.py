"""A curve to draw by hand, over labelled axes: a component that lives in the browser (views/assets/sketch).

It stands in a form: what is drawn travels when the form is sent, and nothing reruns while a hand draws.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable
from functools import cache
from typing import Any

import streamlit as st

from lessons.curves import Axes, Points
from lessons.questions import Question
from views.served_files import asset_url
from views.shim import shim
from views.words import _

_HTML = '<link rel="stylesheet" href="{sheet}"><div class="sk" role="group"></div>'


@cache
def _component() -> Callable[..., Any]:
    """The registered component; once a process."""
    html = _HTML.format(sheet=asset_url("sketch/sketch.css"))
    return st.components.v2.component("twospeeds_sketch", html=html, js=shim("sketch/sketch.js", ".sk"))


def sketch_box(question: Question, axes: Axes, key: str) -> Points | None:
    """The axes to draw on, with what has been drawn; gives the curve once every mark has a value, else None."""
    session = st.session_state.setdefault("sketches", secrets.token_hex(8))
    data = {
        "axes": _axes(question, axes),
        "points": _standing(axes, key),
        "unsent": f"{session} {key}",
        "labels": _labels(),
    }
    result = _component()(key=key, data=data, default={"points": None}, on_points_change=_noted)
    return _whole(question, result.points)


def drawn(question: Question, key: str) -> Points | None:
    """What the box of this key holds: for a callback, which runs before the box is drawn again."""
    return _whole(question, _kept(key))


def is_begun(key: str) -> bool:
    """Whether something has been drawn, if not all of it."""
    kept = _kept(key)
    return isinstance(kept, list) and any(one is not None for one in kept)


def _axes(question: Question, axes: Axes) -> dict[str, object]:
    return {
        "at": list(axes.at),
        "along": axes.along,
        "label": question.counted,
        "unit": question.unit,
        "low": question.smallest,
        "high": question.largest,
        "step": question.step,
    }


def _standing(axes: Axes, key: str) -> list[float | None]:
    """What was drawn before the page was left and come back to."""
    kept = _kept(key)
    return kept if isinstance(kept, list) and len(kept) == len(axes.at) else [None] * len(axes.at)


def _kept(key: str) -> object:
    state = st.session_state.get(key)
    return state.get("points") if isinstance(state, dict) else None


def _whole(question: Question, points: object) -> Points | None:
    """What a browser sent as a curve; None unless it is a number for each mark, within the drawing."""
    if not isinstance(points, list) or not all(type(one) in (int, float) and math.isfinite(one) for one in points):
        return None
    curve = tuple(points)
    return curve if question.accepts(curve) else None


def _labels() -> dict[str, str]:
    return {
        "load_failed": _("The drawing could not be loaded. Reload the page to try again."),
        "draw": _("Draw your line here, from left to right"),
        "keys": _("Draw from left to right, or set each mark with the arrow keys."),
        "at": _("At {x} {along}"),
        "not_drawn": _("not drawn yet"),
        "clear": _("Clear"),
    }


def _noted() -> None:
    """Streamlit keeps a component's state only where there is a callback for it."""
