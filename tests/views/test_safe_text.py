"""Whatever a person or the model wrote is shown as it is, never interpreted."""

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin

from lessons.run_values import values_of
from tests.lessons.story_run import story_run
from views.prose import filled
from views.safe_text import code_span, one_line, plain, plotly_text, token_label

NASTY = [
    "<script>alert(1)</script>", "[x](javascript:alert(1))", "`", "``", "` `", "```\ncode\n```", "$math$", "$$x$$",
    ":emoji:", ":smile:", ":red[angry]", ":material/home:", "**bold**", "![i](http://example.org/x.png)", "\\", "\\`",
    "<b>", "&lt;", "# title", "a|b", "{{ run.passes }}", " girl", "  ", "\n", "\t", "", "\u202eevil", "x\x00y",
]  # fmt: skip

_markdown = MarkdownIt("commonmark", {"html": True}).use(dollarmath_plugin)


def inline_tokens(text: str):
    (inline,) = [token for token in _markdown.parse(text) if token.type == "inline"]
    return inline.children


@pytest.mark.parametrize("text", NASTY)
def test_nasty_text_becomes_one_code_span_that_says_exactly_it(text):
    before, span, after = inline_tokens(f"x {code_span(text)} y")
    assert (before.content, span.type, after.content) == ("x ", "code_inline", " y")
    assert span.content == (one_line(text) or " ")


@given(st.text(max_size=40))
def test_any_text_at_all_survives_in_a_code_span(text):
    kinds = [(token.type, token.content) for token in inline_tokens(f"x {code_span(text)} y")]
    assert kinds == [("text", "x "), ("code_inline", one_line(text) or " "), ("text", " y")]


@given(st.text(min_size=1, max_size=60).map(one_line))
def test_a_message_reads_in_markdown_exactly_as_it_is(text):
    rendered = "".join(token.content for token in inline_tokens(f"x{plain(text)}y"))
    assert rendered == f"x{text}y"


@given(st.text(max_size=60))
def test_a_plotly_label_holds_no_tag_and_no_line_break(text):
    label = plotly_text(text, longest=20)
    assert "<" not in label and "\n" not in label
    assert len(html.unescape(label)) <= 20 or "&" in label


def test_a_long_label_is_shortened_in_the_middle_so_that_both_ends_can_be_recognised():
    assert plotly_text("abcdefghijklmnopqrstuvwxyz", longest=9) == "abcd…wxyz"


@pytest.mark.parametrize(
    ("token", "label"),
    [(" girl", "girl"), ("girl", "girl"), (" ", "␣"), ("  ", "␣␣"), ("\n", "⏎"), (" \n", "⏎"), ("", "")],
)
def test_a_token_label_drops_the_space_in_front_but_shows_space_alone(token, label):
    assert token_label(token) == label


@pytest.mark.parametrize("text", NASTY)
def test_text_from_a_run_cannot_break_out_of_a_lessons_prose(text):
    run = story_run(reply=[text or "x", " end"])
    shown = filled("It began with {{ run.first_new_token }} then.", values_of(run))
    types = [token.type for token in inline_tokens(shown)]
    assert types == ["text", "code_inline", "text"]


def test_numbers_are_filled_in_and_what_is_missing_says_so():
    values = values_of(story_run(reply=[" one"]))
    text = '{{ run.passes | plural "pass" "passes" }}, first after {{ run.ttft | ms }}, then {{ run.tpot | ms }}.'
    assert filled(text, values) == "1 pass, first after 6.50 ms, then (not known)."


def test_a_fault_in_an_expression_leaves_the_rest_of_the_text_standing():
    assert filled("a {{ run.nothing }} b {{ ( }} c", {}) == "a (not known) b {{ ( }} c"


def test_direction_marks_and_controls_are_visible_boxes():
    assert not re.search(r"[\x00-\x1f\u202e]", one_line("a\u202e\x00\x1bb"))
    assert one_line("a\u202eb") == "a□b"
