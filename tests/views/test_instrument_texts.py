"""Two texts of one prompt: which is which, where they part, and every token with its odds."""

from __future__ import annotations

import msgspec
import pytest

from engine.account.record import Run, Serving
from lessons import catalogue
from tests.lessons.story_run import REPLY, story_run
from tests.lessons.two_served import rounded_run
from views.compare_texts import texts_part
from views.instruments.texts import bits_of, format_of, table
from views.second_run import _served_like
from views.two_runs import same_question

OTHER = [*REPLY[:3], " Max", *REPLY[4:8]]


def test_the_format_is_read_off_the_models_name():
    assert [format_of(one) for one in (story_run(), rounded_run(OTHER), rounded_run(OTHER, "int8"))] == [
        "bf16", "int4", "int8",
    ]  # fmt: skip
    assert [bits_of(one) for one in (story_run(), rounded_run(OTHER))] == ["16 bits", "4 bits"]


def test_weights_in_another_format_are_the_same_question_and_another_prompt_is_not():
    assert same_question(story_run(), rounded_run(OTHER))
    header = msgspec.structs.replace(rounded_run(OTHER).header, prompt="Another")
    assert not same_question(story_run(), Run([header, *rounded_run(OTHER).events[1:]]))


@pytest.mark.parametrize("wanted", [None, "int8", "int4"])
def test_a_second_run_counts_only_in_the_format_that_was_wanted(wanted):
    assert _served_like(rounded_run(OTHER), Serving(weights=wanted)) is (wanted == "int4")


def test_the_table_has_every_token_and_is_blank_beyond_the_shorter_text():
    exact, rounded = story_run(), rounded_run(OTHER)
    columns = table(exact, rounded)
    assert list(columns) == ["new token", "16 bits", "its odds, 16 bits", "4 bits", "its odds, 4 bits"]
    assert columns["16 bits"][3] == REPLY[3].strip() and columns["4 bits"][3] == "Max"
    assert columns["4 bits"][-1] == "" and columns["its odds, 4 bits"][-1] is None
    assert len({len(column) for column in columns.values()}) == 1
    assert texts_part(exact, rounded).n_same == 3


def test_the_recorded_pair_parts_where_the_lesson_says():
    exact, rounded = catalogue.recording("story-16-bits"), catalogue.recording("story-4-bits")
    parting = texts_part(exact, rounded)
    assert parting.n_same == 3 and parting.first_odds and parting.second_odds
