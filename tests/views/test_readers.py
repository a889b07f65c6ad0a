"""What reads the results of an instrument is drawn again with it, and nothing else is."""

from __future__ import annotations

import pytest
import streamlit as st

from lessons.structure import Block, Setting
from views import readers


class Page:
    def key(self, what):
        return f"{what}.lesson"


PAGE = Page()


def block(name, body="", **settings):
    return Block(name, "", tuple(Setting(key, value, 1) for key, value in settings.items()), body, 1, 1)


@pytest.fixture
def asked(monkeypatch):
    """What Streamlit is asked to draw again, one list for each time."""
    found = []
    monkeypatch.setattr(st, "session_state", {})
    monkeypatch.setattr(st, "rerun", found.append)
    monkeypatch.setattr(st, "fragment", lambda draw, key: draw)
    return found


def drawn(*texts):
    for number, text in enumerate(texts):
        readers.draw_reader(PAGE, text, lambda: None, f"text-{number}")


def test_the_instrument_is_drawn_first_and_then_every_text_that_says_its_numbers(asked):
    readers.begin(PAGE, [block("prose", "{{ pages.running }}"), block("check", "How many chats?")])
    drawn("{{ pages.running }} chats", "no number", "{{ tiles.tokens }}", "{{ 2 * pages.saved_pages }}")
    readers.with_readers(PAGE, "pages", "here")()
    assert asked == [["instrument-here", "text-0", "text-3"]]
    assert readers.are_following(PAGE, "pages"), "so the page itself need not be drawn"
    assert not readers.are_following(PAGE, "pages"), "said once: the next change may have another reader"


@pytest.mark.parametrize(
    "reader", [block("check", answer="pages.running + 1"), block("card", "It saves {{ pages.saved_pages }}.")]
)
def test_where_a_question_or_a_card_reads_it_the_whole_page_is_drawn(asked, reader):
    readers.begin(PAGE, [reader])
    drawn("{{ pages.running }}")
    readers.with_readers(PAGE, "pages", "here")()
    assert asked == [] and not readers.are_following(PAGE, "pages")


def test_what_nobody_reads_and_what_is_no_name_of_a_result_asks_for_nothing(asked):
    readers.begin(PAGE, [])
    drawn("A book of pages. Two tiles.", "{{ prefill.ms }}")
    readers.with_readers(PAGE, "pages", "here")()
    assert asked == []
