"""Events arrive whole, whatever their text holds and however the bytes are cut up on the way."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.account.record import Sampling
from engine.account.record_file import decode_event
from engine.serve.lines import LineCutter


@given(st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1)), st.integers(1, 7))
def test_lines_come_back_as_they_were_however_the_bytes_are_cut(texts, size):
    lines = ["{" + text for text in texts]
    whole = "".join(line + "\n" for line in lines).encode()
    cutter = LineCutter()
    got = [line for at in range(0, len(whole), size) for line in cutter.feed(whole[at : at + size])]
    assert [line.decode() for line in got] == lines


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85", "\x0b", "\x1c"])
def test_a_prompt_with_an_exotic_line_end_is_streamed_whole(client, separator):
    async def relayed(run_id):
        return [decode_event(line) async for line in client.lines(run_id)]

    run_id = client.submit(f"one{separator}two", Sampling(max_new_tokens=2))
    events = list(client.events(run_id))
    assert events[0].prompt == f"one{separator}two"
    assert events[-1].reason == "length"
    assert asyncio.run(relayed(run_id)) == events
