"""What is refused, and in which words."""

import math
import time

import pytest

from engine.account.record import Sampling
from engine.loop.request import MAX_SEED, Request, RequestError, SamplingParams, read_prompt


def refusal(make, code):
    with pytest.raises(RequestError) as caught:
        make()
    assert caught.value.code == code
    assert caught.value.message == str(caught.value)
    return caught.value.message


def read(prompt, *, new=1, context=16, longest=4, encode=lambda text: list(text.encode())):
    return read_prompt(Request(prompt, SamplingParams(max_new_tokens=new)), encode, longest, context)


def test_an_empty_prompt_is_refused_and_whitespace_is_not():
    assert "empty" in refusal(lambda: Request(""), "empty_prompt")
    assert read(" \n") == [32, 10]


def test_a_prompt_that_the_tokenizer_makes_nothing_of_is_refused_as_empty():
    refusal(lambda: read("x", encode=lambda text: []), "empty_prompt")


@pytest.mark.parametrize(
    ("prompt", "named"), [(b"bytes", "raw bytes"), (None, "nothing"), (7, "type int"), (["a"], "type list")]
)
def test_what_is_not_text_is_named(prompt, named):
    assert named in refusal(lambda: Request(prompt), "not_text")


def test_half_a_character_is_refused_with_its_place():
    message = refusal(lambda: Request("ab\ud83d!"), "not_text")
    assert "Character 3" in message
    assert "U+D83D" in message


def test_a_soup_of_control_characters_reaches_the_tokenizer_unchanged():
    soup = "".join(map(chr, [*range(32), 0x7F, 0x85, 0x200B, 0x202E, 0xFEFF]))
    seen = []
    read(soup, context=1000, encode=lambda text: seen.append(text) or [1])
    assert seen == [soup]


def test_a_prompt_beyond_the_context_is_told_its_length_and_the_limit():
    message = refusal(lambda: read("x" * 16), "prompt_too_long")
    assert "16 tokens" in message
    assert "at most 15" in message


def test_too_many_new_tokens_are_told_how_many_would_fit():
    message = refusal(lambda: read("x" * 10, new=7), "too_many_new_tokens")
    assert "at most 6 new tokens" in message
    assert len(read("x" * 10, new=6)) == 10


def test_a_hopeless_prompt_is_refused_by_its_size_without_being_tokenised():
    def encode(text):
        raise AssertionError("tokenised")

    started = time.perf_counter()
    message = refusal(lambda: read("🦊" * 250_000, context=2048, longest=16, encode=encode), "prompt_too_long")
    assert "1,000,000 bytes" in message
    assert time.perf_counter() - started < 1


def test_a_long_text_that_composes_to_a_short_one_is_not_refused_by_its_size():
    """e + combining acute is 3 bytes and becomes 2: a bound on the bytes as typed would refuse what fits."""
    assert len(read("e\u0301" * 5, context=3, longest=4, encode=lambda text: [1, 2])) == 2


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("temperature", math.nan), ("temperature", math.inf), ("temperature", -0.1), ("temperature", 100.1),
        ("temperature", "hot"), ("temperature", True), ("temperature", None),
        ("top_p", 0.0), ("top_p", 1.01), ("top_p", -1), ("top_p", math.nan),
        ("top_k", -1), ("top_k", 1.5), ("top_k", True),
        ("seed", -1), ("seed", MAX_SEED + 1), ("seed", 0.5),
        ("max_new_tokens", 0), ("max_new_tokens", -3), ("max_new_tokens", 2.0),
        ("ignore_eos", 1), ("ignore_eos", "yes"),
    ],
)  # fmt: skip
def test_absurd_settings_are_refused_by_name(field, value):
    message = refusal(lambda: SamplingParams(**{field: value}), "bad_sampling")
    assert message.startswith(f"{field} must be")
    refusal(lambda: Request("x", Sampling(**{field: value})), "bad_sampling")


def test_the_extremes_that_are_allowed_are_allowed():
    SamplingParams(temperature=0, top_k=0, top_p=1, seed=0, max_new_tokens=1)
    SamplingParams(temperature=100, top_k=10**9, top_p=1e-9, seed=MAX_SEED, max_new_tokens=10**9)
    SamplingParams(temperature=5e-324)


def test_a_huge_value_does_not_fill_the_message():
    assert len(refusal(lambda: SamplingParams(temperature="x" * 10_000), "bad_sampling")) < 200


def test_an_own_request_id_must_be_plain():
    assert Request("x", request_id="run-1_A").request_id == "run-1_A"
    for bad in ("", "a/b", "x" * 65, "ä", 5):
        refusal(lambda bad=bad: Request("x", request_id=bad), "bad_request_id")
