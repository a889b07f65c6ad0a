"""The glossary that ships has a sentence for each term, and marks in prose become words."""

import re

from lessons import catalogue
from lessons.glossary import glossary, marked, without_marks
from lessons.typed_numbers import typed_numbers


def test_every_entry_of_the_file_is_read_as_one_sentence():
    source = (catalogue.HOME / "en" / "glossary.md").read_text()
    assert len(glossary()) == len(re.findall(r"^- ", source, re.MULTILINE)) >= 35
    assert all(sentence.endswith(".") and ". " not in sentence.replace("e.g. ", "") for sentence in glossary().values())
    assert list(typed_numbers(source)) == []


def test_a_mark_names_its_term_and_shows_its_word():
    text = "A [[prefill]] fills the [[KV cache|cache]]; a[0][1] is left alone."
    assert [term for _, term in marked(text)] == ["prefill", "KV cache"]
    assert without_marks(text) == "A *prefill* fills the *cache*; a[0][1] is left alone."


def test_a_language_without_a_glossary_has_no_terms():
    assert glossary("xx") == {}
