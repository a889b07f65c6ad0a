"""The five colours: readable on every background that they stand on, and apart from each other."""

from __future__ import annotations

import itertools
import tomllib
from pathlib import Path

import pytest

from views.palette import BACKGROUND, COLOURS, MEANINGS, css_variables

CONFIG = Path(__file__).resolve().parents[2] / ".streamlit" / "config.toml"
THEMES = ("light", "dark")


def channels(colour: str) -> list[float]:
    """The colour's linear-light channels (WCAG 2.2, relative luminance)."""
    shares = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    return [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]


def luminance(colour: str) -> float:
    r, g, b = channels(colour)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def test_the_contrast_formula_gives_the_known_extremes():
    assert contrast("#000000", "#ffffff") == pytest.approx(21.0)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("theme", THEMES)
def test_the_palettes_background_is_the_pages(theme):
    assert BACKGROUND[theme] == tomllib.loads(CONFIG.read_text())["theme"][theme]["backgroundColor"]


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("meaning", MEANINGS)
def test_a_colour_can_be_read_as_text_on_the_page_and_on_a_panel(theme, meaning):
    panel = tomllib.loads(CONFIG.read_text())["theme"][theme]["secondaryBackgroundColor"]
    assert contrast(COLOURS[theme][meaning], BACKGROUND[theme]) >= 4.5
    assert contrast(COLOURS[theme][meaning], panel) >= 4.5


@pytest.mark.parametrize("theme", THEMES)
def test_every_meaning_has_a_colour_of_its_own(theme):
    assert set(COLOURS[theme]) == set(MEANINGS)
    for one, other in itertools.combinations(MEANINGS, 2):
        apart = sum(
            abs(a - b) for a, b in zip(channels(COLOURS[theme][one]), channels(COLOURS[theme][other]), strict=True)
        )
        assert apart > 0.15, (one, other)


@pytest.mark.parametrize("theme", THEMES)
def test_css_gets_all_five(theme):
    declared = css_variables(theme)
    assert [f"--ts-{meaning}: {COLOURS[theme][meaning]};" in declared for meaning in MEANINGS] == [True] * 5
