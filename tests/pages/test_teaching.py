"""For teachers on the page: the answers on request, the ways to present, one screen at a time."""

from __future__ import annotations

from lessons import catalogue
from tests.pages.components import card_values, charts
from tests.pages.conftest import checked, opened, words

QUESTION, ANSWER = "You send a message", "There was 1 prefill"


def test_the_answers_are_shown_to_who_asks_for_them(engine):
    assert "**Right: 10 passes**" not in words(opened())
    assert "**Right: 10 passes**" in words(opened(teach="1"))
    page = opened()
    assert not page.toggle, "shut, it has not even travelled"
    page.session_state["teaching-one-request-two-phases"] = True
    (toggle,) = page.run().toggle
    assert toggle.label == "Show the answers"
    assert "**Right: 10 passes**" in words(checked(toggle.set_value(True).run()))


def test_the_stage_shows_one_screen_without_side_bar_notes_or_sources(engine):
    page = opened(present="1")
    said = words(page)
    assert QUESTION in said and ANSWER not in said and "show of hands" not in said and "Vaswani" not in said
    assert not page.expander


def test_going_on_to_the_answer_counts_as_no_guess(engine):
    page = opened(present="1", slide="2")
    said = words(page)
    assert ANSWER in said and QUESTION not in said
    assert [(one.question, one.answer) for one in page.session_state["attempts"]] == [("passes", None)]
    # Nobody on a stage "said: no guess", as stood there once.
    assert "You said" not in card_values(page) and card_values(page)["The model ran"] == "10 passes"


def test_a_slide_that_is_not_there_is_the_last_or_the_first(engine):
    assert "Check yourself" in [one.value for one in opened(present="1", slide="99").header]
    for spoilt in ("0", "-1", "x", "9" * 30, "²"):
        assert QUESTION in words(opened(present="1", slide=spoilt))


def test_the_speaker_s_window_has_notes_and_answers_and_not_the_lesson(engine):
    said = words(opened(present="notes"))
    assert "show of hands" in said and "**Right: 10 passes**" in said and QUESTION not in said


TILED = """---
title: Tiles
question: How many?
minutes: 3
---

:::screen first
title: First
:::

:::instrument tiles
shape: qwen4b
tokens: 64
queries: 16
keys: 16
:::

:::screen second
title: Second

The instrument said {{ tiles.tokens }} tokens.
:::
"""


def test_a_reload_in_the_middle_knows_what_instruments_on_earlier_slides_tell(engine, tmp_path, monkeypatch):
    (tmp_path / "en").mkdir()
    (tmp_path / "en" / "01-tiles.md").write_text(TILED)
    monkeypatch.setattr(catalogue, "HOME", tmp_path)
    page = opened(present="1", slide="2")
    assert "The instrument said 64 tokens." in words(page)
    assert [one.value for one in page.header] == ["Second"] and not charts(page)
