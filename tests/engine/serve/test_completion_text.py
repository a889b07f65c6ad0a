"""From events to text: pieces that no later token can change, and the tokens that belong to them."""

from __future__ import annotations

import asyncio
import math
from contextlib import aclosing

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from engine.account.record import Candidate, Emission, End, Error, Event, Sampling, Token
from engine.loop.run_log import Bell, RunLog
from engine.loop.sampler import odds
from engine.serve.choices import Choices
from engine.serve.completion_text import Placed, Writer
from engine.serve.logprobs import chat_logprobs, completion_logprobs
from tests.engine.serve.conftest import PATIENCE_S
from tests.engine.serve.scripted import pass_of


def emitting(*raws: bytes) -> list[Event]:
    return [pass_of(i, i, 1, i + 1, Token.of(i, raw), 0, 1) for i, raw in enumerate(raws)]


def test_half_a_character_waits_for_its_other_half():
    writer = Writer([])
    first, second = emitting(b"caf\xc3", b"\xa9!")
    writer.take([first])
    assert writer.piece().text == "caf"
    writer.take([second])
    assert writer.piece().text == "\u00e9!"


def test_half_a_character_at_the_end_is_shown_as_the_record_shows_it():
    writer = Writer([])
    writer.take([*emitting(b"caf\xc3"), End(1, "length", 1)])
    assert writer.piece().text == "caf\ufffd"


def test_what_may_begin_a_stop_text_is_held_back_until_it_is_decided():
    writer = Writer(["\n\nEND"])
    first, second, third = emitting(b"one\n", b"\n", b"two")
    writer.take([first])
    assert writer.piece().text == "one"
    writer.take([second])
    assert writer.piece().text == ""
    writer.take([third])
    assert writer.piece().text == "\n\ntwo"


def test_what_was_held_back_is_sent_at_the_end():
    writer = Writer(["xyz"])
    writer.take([*emitting(b"abcxy"), End(1, "stop", 1)])
    piece = writer.piece()
    assert (piece.text, piece.finish_reason) == ("abcxy", "stop")


def test_the_first_of_two_stop_texts_counts():
    writer = Writer(["d", "b"])
    writer.take(emitting(b"abcd"))
    assert writer.piece().text == "a"


def test_tokens_come_with_the_text_that_they_begin_and_what_a_stop_text_cuts_off_is_not_told():
    writer = Writer(["STOP"])
    first, second, third, fourth = emitting(b"one S", b"T", b"O", b"P two")
    writer.take([first])
    piece = writer.piece()
    assert (piece.text, [placed.offset for placed in piece.tokens]) == ("one ", [0])
    writer.take([second, third])
    assert writer.piece().tokens == []
    writer.take([fourth])
    piece = writer.piece()
    assert (piece.text, piece.tokens, piece.finish_reason) == ("", [], "stop")
    assert writer.n_tokens == 4


def test_a_token_whose_beginning_is_before_the_stop_text_is_told_whole():
    writer = Writer(["b"])
    writer.take(emitting(b"a", b"ab", b"c"))
    piece = writer.piece()
    assert [placed.emission.token.text for placed in piece.tokens] == ["a", "ab"]
    assert piece.text == "aa"


@given(
    st.lists(st.text("abc\u00e9\U0001f996", min_size=1, max_size=4), min_size=1, max_size=8),
    st.lists(st.text("abc\u00e9", min_size=1, max_size=4), max_size=4),
    st.data(),
)
def test_in_pieces_or_whole_a_reply_is_the_same_and_ends_before_the_first_stop_text(words, stops, data):
    raw = "".join(words).encode()
    cuts = sorted(data.draw(st.sets(st.integers(1, len(raw) - 1)))) if len(raw) > 1 else []
    tokens = emitting(*(raw[a:b] for a, b in zip([0, *cuts], [*cuts, len(raw)], strict=True)))
    end = End(len(tokens), "length", 1)
    whole, streamed = Writer(stops), Writer(stops)
    whole.take([*tokens, end])
    pieces = []
    for event in [*tokens, end]:
        streamed.take([event])
        pieces.append(streamed.piece())
    expected = whole.piece()
    assert "".join(piece.text for piece in pieces) == expected.text
    assert [placed for piece in pieces for placed in piece.tokens] == expected.tokens
    text = raw.decode()
    assert not any(stop in expected.text for stop in stops)
    assert text.startswith(expected.text)
    assert (expected.finish_reason == "stop") == any(stop in text for stop in stops)


@given(arrays(np.float32, 50, elements=st.floats(-30, 30, width=32)), st.integers(0, 49))
def test_a_log_probability_is_the_log_softmax_of_the_logits_in_float64(logits, chosen):
    sampling = Sampling(temperature=0.7, top_k=3)
    found = odds(logits, sampling, chosen)
    candidates = [
        Candidate(Token.of(i, str(i).encode()), *three)
        for i, *three in zip(found.ids, found.model, found.tempered, found.sampled, strict=True)
    ]
    placed = Placed(Emission(Token.of(chosen, str(chosen).encode()), 0, candidates, found.rank), 0)
    wide = logits.astype(np.float64)
    expected = wide - wide.max() - math.log(np.exp(wide - wide.max()).sum())
    told = completion_logprobs([placed], 5)
    assert told["token_logprobs"] == pytest.approx([expected[chosen]], abs=1e-4)
    assert sorted(told["top_logprobs"][0].values()) == pytest.approx(sorted(expected)[-5:], abs=1e-4)


def test_half_a_character_is_told_by_its_bytes_so_that_two_halves_stay_two():
    halves = [Token.of(7, b"\xf0\x9f"), Token.of(8, b"\xf0\x9e")]
    placed = Placed(Emission(halves[0], 3, [Candidate(one, 0.5, 0.5, 0.5) for one in halves], 0), 4)
    told = completion_logprobs([placed], 2)
    assert told["tokens"] == ["bytes:\\xf0\\x9f"]
    assert told["top_logprobs"] == [{"bytes:\\xf0\\x9f": math.log(0.5), "bytes:\\xf0\\x9e": math.log(0.5)}]
    assert told["text_offset"] == [4]
    entry = chat_logprobs([placed], 1)["content"][0]
    assert bytes(entry["bytes"]) == b"\xf0\x9f" and len(entry["top_logprobs"]) == 1


def test_choices_that_run_side_by_side_are_read_side_by_side_and_fail_together():
    async def read() -> None:
        async with aclosing(choices.progress()) as turns:
            for place, word in ((0, b"a0"), (1, b"b0"), (0, b"a1")):
                logs[place].append(pass_of(len(logs[place]), 0, 1, 1, Token.of(3, word), 0, 1))
                await anext(turns)
                told.extend((index, piece.text) for index, piece in choices.pieces())
            logs[1].append(Error(len(logs[1]), "engine_failed", "It broke."))
            logs[0].append(pass_of(len(logs[0]), 0, 1, 1, Token.of(3, b"a2"), 0, 1))
            told.extend([(index, piece.text) async for _ in turns for index, piece in choices.pieces()])

    bell, told = Bell(), []
    logs = [RunLog(name, bell, lambda: None) for name in ("a", "b")]
    choices = Choices(logs, [], ())
    try:
        asyncio.run(asyncio.wait_for(read(), PATIENCE_S))
    finally:
        bell.close()
    assert told == [(0, "a0"), (1, "b0"), (0, "a1"), (0, "a2")]
    assert choices.failure.message == "It broke."
