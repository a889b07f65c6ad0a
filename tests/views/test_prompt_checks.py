"""A prompt that cannot be run is refused beside the box, in words that say what to do."""

import pytest

from views.prompt_checks import MAX_PROMPT_CHARACTERS, prompt_problem, unfamiliar


@pytest.mark.parametrize(
    ("prompt", "words"),
    [
        ("", "empty"),
        ("x" * (MAX_PROMPT_CHARACTERS + 1), "200,001 characters"),
        ("a\x00b", "control character (U+0000)"),
        ("".join(map(chr, range(32))), "U+0000, U+0001, U+0002, U+0003, U+0004, …"),
        ("half \ud83d", "half of a character"),
    ],
)
def test_it_says_what_is_wrong_and_shortly(prompt, words):
    problem = prompt_problem(prompt)
    assert problem and words in problem and len(problem) < 200


@pytest.mark.parametrize(
    "prompt", ["Once", " ", "line\nbreak\tand tab", "😀" * 25_000, "<script>alert(1)</script>", "أهلا", "a\u200db"]
)
def test_text_of_any_kind_is_left_to_the_engine(prompt):
    assert prompt_problem(prompt) is None


def test_only_ascii_is_familiar_to_the_story_model():
    assert not unfamiliar("Once upon a time, there was a <b>")
    assert unfamiliar("café") and unfamiliar("😀")
