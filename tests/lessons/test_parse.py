"""A lesson file is read into blocks without losing a line, and what is wrong with it is named by line."""

from pathlib import Path

from lessons.parse import parse_lesson

FRONT = """---
title: A title
question: Why?
minutes: 3
model: story
prompt: "Once: upon a time"
new_tokens: 4
recording: some-run
---
"""
PATH = Path("07-a-small-lesson.md")


def test_front_matter_gives_typed_values_and_keeps_colons_inside_quotes():
    lesson = parse_lesson(FRONT, PATH)
    assert not lesson.faults
    assert (lesson.number, lesson.slug) == (7, "a-small-lesson")
    assert lesson.front.prompt == "Once: upon a time"
    assert (lesson.front.minutes, lesson.front.new_tokens) == (3, 4)


def test_settings_come_first_and_the_rest_is_text_with_its_line():
    text = (
        FRONT
        + "\n:::predict passes\nkind: number\nnear: a -> b\nnear: c -> d\n\nHow *many*?\nnote: not a setting\n:::\n"
    )
    (block,) = parse_lesson(text, PATH).blocks
    assert (block.name, block.argument) == ("predict", "passes")
    assert block.values("near") == ["a -> b", "c -> d"]
    assert block.body == "How *many*?\nnote: not a setting"
    lines = text.splitlines()
    assert lines[block.line - 1] == ":::predict passes"
    assert lines[block.body_line - 1] == "How *many*?"
    assert lines[block.settings[0].line - 1] == "kind: number"


def test_a_block_without_settings_may_hold_text_at_once():
    (block,) = parse_lesson(FRONT + ":::sources\nSome paper.\n:::\n", PATH).blocks
    assert not block.settings and block.body == "Some paper."


def test_an_indented_line_continues_the_setting_above_it():
    (block,) = parse_lesson(FRONT + ":::check c\nright: Yes,\n  it is.\nwrong: No.\n:::\n", PATH).blocks
    assert block.value("right") == "Yes, it is."
    assert block.value("wrong") == "No."


def test_prose_between_directives_is_kept_as_written_and_in_place():
    lesson = parse_lesson(FRONT + "Before *it*.\n\n- a list\n\n:::flipbook\n:::\n\nAfter.\n", PATH)
    assert [block.name for block in lesson.blocks] == ["prose", "flipbook", "prose"]
    assert lesson.blocks[0].body.strip() == "Before *it*.\n\n- a list"
    assert lesson.blocks[2].body.strip() == "After."


def test_an_unclosed_fence_is_named_by_its_own_line_even_when_the_next_fence_closes_it():
    text = FRONT + ":::metrics\n\n:::sources\nA paper.\n:::\n"
    (fault,) = parse_lesson(text, PATH).faults
    assert text.splitlines()[fault.line - 1] == ":::metrics"
    assert "not closed before line 12" in fault.message


def test_a_fence_open_at_the_end_of_the_file_is_a_fault():
    text = FRONT + ":::sources\nA paper.\n"
    (fault,) = parse_lesson(text, PATH).faults
    assert text.splitlines()[fault.line - 1] == ":::sources"


def test_a_longer_fence_may_show_how_a_shorter_one_is_written():
    text = FRONT + "::::notes teacher\n```\n:::metrics\n:::\n```\n::::\n"
    lesson = parse_lesson(text, PATH)
    assert not lesson.faults
    assert ":::metrics" in lesson.blocks[0].body


def test_a_line_among_the_settings_that_is_none_is_a_fault_where_it_stands():
    text = FRONT + ":::check c\nkind: number\nHow many?\n:::\n"
    (fault,) = parse_lesson(text, PATH).faults
    assert text.splitlines()[fault.line - 1] == "How many?"


def test_missing_or_mistyped_front_matter_is_a_fault_and_the_rest_is_still_read():
    without = parse_lesson(":::flipbook\n:::\n", PATH)
    assert "front matter" in without.faults[0].message and without.blocks
    mistyped = parse_lesson(FRONT.replace("minutes: 3", "minutes: three"), PATH)
    assert "minutes" in mistyped.faults[0].message
    unknown = parse_lesson(FRONT.replace("minutes: 3", "minutes: 3\ncolour: red"), PATH)
    assert "colour" in unknown.faults[0].message


def test_a_file_name_without_a_number_is_a_fault():
    assert "two digits" in parse_lesson(FRONT, Path("lesson.md")).faults[0].message
