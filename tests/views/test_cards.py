"""Numbers as cards, and the button that answers how they were made: our own HTML, so whatever is in it is escaped."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest

from tests.pages.components import cards, spoken


def page_with_cards() -> None:
    from views.cards import Card, show_cards

    show_cards([Card("Queue", "2 ms", "n = 3", "by `<b>` & **care**"), Card("<i>Rate</i>", None, "no token")], key="k")


def test_a_card_has_a_label_a_value_and_a_line_of_small_print_and_a_blank_stays_blank():
    page = AppTest.from_function(page_with_cards, default_timeout=30).run()
    assert cards(page) == [("Queue", "2 ms", "n = 3"), ("<i>Rate</i>", "", "no token")]


def test_how_a_number_was_made_is_markdown_of_ours_with_nothing_of_anybodys_in_it():
    (element,) = AppTest.from_function(page_with_cards, default_timeout=30).run().html
    assert "<code>&lt;b&gt;</code> &amp; <strong>care</strong>" in element.value
    assert "<i>" not in element.value and "<b>" not in element.value


def test_each_button_opens_its_own_answer_and_says_what_about():
    (element,) = AppTest.from_function(page_with_cards, default_timeout=30).run().html
    assert element.value.count('popovertarget="more-k-0" aria-label="How? Queue"') == 1
    assert element.value.count('<div popover id="more-k-0">') == 1
    assert "more-k-1" not in element.value, "no button where there is nothing to say"


def test_what_a_page_says_leaves_out_styles():
    assert spoken("<style>p { color: red }</style><p>a &lt; b</p>").split() == ["a", "<", "b"]
