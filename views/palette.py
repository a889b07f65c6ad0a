"""The five colours that mean something, defined once, light and dark.

A colour has one meaning everywhere: in the flipbook, in Plotly figures, in text. Each is told apart by a shape or a
word as well, so nothing depends on colour alone. Contrast against the page background is at least 4.5 : 1 in both
themes (tests/views/test_palette.py computes it after WCAG 2.2).
"""

from __future__ import annotations

from typing import Literal, get_args

Meaning = Literal["prefill", "decode", "kv", "state", "weights"]
Theme = Literal["light", "dark"]

MEANINGS: tuple[Meaning, ...] = get_args(Meaning)

BACKGROUND: dict[Theme, str] = {"light": "#ffffff", "dark": "#0b1020"}

COLOURS: dict[Theme, dict[Meaning, str]] = {
    "light": {
        "prefill": "#2563eb",
        "decode": "#c2410c",
        "kv": "#0f766e",
        "state": "#7c3aed",
        "weights": "#be185d",
    },
    "dark": {
        "prefill": "#7aa7ff",
        "decode": "#fb923c",
        "kv": "#2dd4bf",
        "state": "#b794ff",
        "weights": "#f472b6",
    },
}


def css_variables(theme: Theme) -> str:
    """CSS declarations `--ts-<meaning>: <colour>;` for one theme."""
    return " ".join(f"--ts-{meaning}: {COLOURS[theme][meaning]};" for meaning in MEANINGS)
