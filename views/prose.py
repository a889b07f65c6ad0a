"""A lesson's prose with its numbers: every `{{ expression | filter }}` computed from the run on the page."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from lessons.expressions import ExpressionError, Placeholder, Value, placeholders
from lessons.filters import UNKNOWN, write
from lessons.glossary import glossary, marked, without_marks
from views.popover import popover
from views.safe_text import code_span, token_label
from views.words import _, language


def show_prose(text: str, values: Mapping[str, Value], key: str, below: str = "") -> None:
    """A lesson's Markdown, what stands below it as it is, and a button for each glossary term that the text marks, with
    the term's sentence.
    """
    st.markdown(filled(text, values) + below)
    sentences = {**glossary(), **glossary(language())}
    terms = [term for _, term in marked(text) if term in sentences]
    if terms:
        buttons = (_term(term, sentences[term], key) for term in terms)
        st.html(f'<div class="ts-terms">{"".join(buttons)}</div>')


def _term(term: str, sentence: str, key: str) -> str:
    return popover(term, f"**{term}**: {sentence}", f"term-{key}-{term}", icon="dictionary")


def filled(text: str, values: Mapping[str, Value]) -> str:
    """Markdown with its placeholders written out; texts of the run are shown literally, what is not known says so."""
    text = without_marks(text)
    parts: list[str] = []
    done = 0
    for found in placeholders(text):
        if isinstance(found, Placeholder):
            parts += [text[done : found.start], _written(found, values)]
            done = found.end
    return "".join([*parts, text[done:]])


def _written(found: Placeholder, values: Mapping[str, Value]) -> str:
    try:
        value = found.expression.evaluate(values)
        return code_span(token_label(value)) if isinstance(value, str) else write(value, found.filters)
    except ExpressionError:
        # The checker names such a fault to the author; a learner sees that the number is missing.
        return _(UNKNOWN)
