"""A recorded workload as a file: what it holds comes back, and what is no workload is told in words."""

from __future__ import annotations

import json

import pytest

from engine.account.workload import MOST_TOKENS, SCHEMA, Ask, BadWorkload, Workload, read_workload, write_workload

ASKS = [Ask(0, "blue heron", 8, 10), Ask(2_500_000_000, "red fox", 500, 200, "Once upon a time")]


def file(**changes) -> bytes:
    request = {"at_ns": 0, "who": "a", "n_prompt": 8, "n_new": 10} | changes
    return json.dumps({"schema": SCHEMA, "created": "", "what": "", "requests": [request]}).encode()


def test_a_workload_comes_back_in_the_order_of_time():
    kept = Workload(SCHEMA, "2026-11-30T09:15:00+00:00", "class K7QM3X", ASKS[::-1])
    found = read_workload(write_workload(kept))
    assert found.requests == ASKS and found.seconds == 2.5 and (found.created, found.what) == (kept.created, kept.what)
    assert b'"prompt": null' not in write_workload(kept), "a text that was not recorded is not there"


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"", "not a recorded workload"),
        (b"\xff\xfe", "not a recorded workload"),
        (b"{}", "schema"),
        (b"[" * 100_000, "not a recorded workload"),
        (file().replace(b"twospeeds.workload/1", b"twospeeds.run/1"), "twospeeds.run/1"),
        (file(at_ns=-1), "at_ns"),
        (file(n_new=0), "n_new"),
        (file(n_prompt=MOST_TOKENS + 1), "n_prompt"),
        (file(at_ns=1e300), "at_ns"),
        (file(extra=1), "extra"),
        (json.dumps({"schema": SCHEMA, "created": "", "what": "", "requests": []}).encode(), "no request"),
    ],
)
def test_what_is_no_workload_is_refused_in_words(raw, said):
    with pytest.raises(BadWorkload, match=said):
        read_workload(raw)
