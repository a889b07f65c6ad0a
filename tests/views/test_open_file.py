"""Files from strangers: whatever is in them, a run that every drawing can take, or one clean sentence."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.account import any_record
from engine.account.record import Run
from engine.account.record_file import dumps
from lessons import catalogue
from lessons.run_values import values_of
from tests.engine.outside.seen import seen_run
from tests.lessons.story_run import REPLY, story_run
from views import flipbook
from views.compare_figures import figures_of
from views.compare_texts import asked_differently, prompts_part, texts_part
from views.figure_chunks import chunks_figure
from views.figure_clock import clock_figure
from views.figure_passes import passes_figure
from views.lanes import lane_of
from views.metrics import readings
from views.open_file import MAX_MEGABYTES, read_file
from views.outside_result import outside_readings
from views.recordings_found import Chosen
from views.recordings_rows import row_of

SHORT = story_run(reply=REPLY[:2])
SMALL = json.loads(dumps(story_run(reply=REPLY[:3])))
OUTSIDE = json.loads(any_record.dumps(seen_run()))
HOSTILE = [
    None, True, -1, 0, 1, 0.5, -0.5, 2**53, 2**64, 10**30, 1e308, "", "<script>alert(1)</script>", "x" * 5000, "\ud800",
    "\u202e\x00", [], {}, [[]], "bfloat16", "linear_attention",
]  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of every value inside a document."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for key, one in inner for found in places(one, (*path, key)))]


def changed(document: Any, path: tuple[Any, ...], action: str, new: Any) -> Any:
    """A copy with one value replaced, removed, or repeated."""
    if not path:
        return new
    copy = json.loads(json.dumps(document))
    place = copy
    for key in path[:-1]:
        place = place[key]
    if action == "remove":
        del place[path[-1]]
    elif action == "repeat" and isinstance(place, list):
        place.append(place[path[-1]])
    else:
        place[path[-1]] = new
    return copy


def draw_everything(raw: bytes) -> str | None:
    """Open a file and draw all that pages draw of it; the problem if there is one."""
    run = read_file(raw)
    if isinstance(run, str):
        return run
    if isinstance(run, Run):
        values_of(run), readings(run)
        flipbook.settings(run_id=None, recording=run, at=None, reveal=True, play=False)
        if run.passes:
            passes_figure(run, "dark", recorded=True)
    else:
        outside_readings(run)
        if run.chunks:
            chunks_figure(run, "light")
    assert row_of(Chosen("file.0", run, "file")).facts
    for other in (SHORT, seen_run()):
        figures = [row.cells for row in figures_of(run, other)]
        assert figures and asked_differently(run, other) is not None
        assert prompts_part(run, other).sentence and texts_part(other, run).sentence
        lanes = {"a": lane_of(run), "b": lane_of(other)}
        if all(lane.spans for lane in lanes.values()):
            clock_figure(lanes, "light", evidence="elsewhere", how="")
    return None


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_a_changed_record_is_drawn_or_refused_in_a_sentence(data):
    document = data.draw(st.sampled_from([SMALL, OUTSIDE]))
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from(places(document)))
        action = data.draw(st.sampled_from(["set", "set", "remove", "repeat"]))
        document = changed(document, path, action, data.draw(st.sampled_from(HOSTILE)))
    problem = draw_everything(json.dumps(document).encode())
    assert problem is None or (0 < len(problem) < 500 and "Traceback" not in problem)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.binary(max_size=8), st.integers(0, 40))
def test_a_damaged_file_too(place, noise, cut):
    raw = dumps(story_run(reply=REPLY[:2]))
    place %= len(raw)
    problem = draw_everything(raw[:place] + noise + raw[place + cut :])
    assert problem is None or (0 < len(problem) < 500 and "Traceback" not in problem)


@pytest.mark.parametrize("name", [path.stem for path in catalogue.RECORDINGS.glob("*.json")])
def test_what_our_own_engine_recorded_opens(name):
    assert draw_everything(catalogue.recording_path(name).read_bytes()) is None


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        (b"", "empty"),
        (b"{" * 1_000_000, "cut off"),
        (b'{"schema": "twospeeds.run/1", "events": ' + b"[" * 200_000 + b"]" * 200_000 + b"}", "nested too deeply"),
        (b"PK\x03\x04 a zip file", "not valid JSON"),
        (b'{"schema": "twospeeds.run/7", "events": []}', "newer than"),
        (b'{"schema": "twospeeds.run/0", "events": []}', "no version of this program wrote"),
        (b'{"schema": "twospeeds.run/' + b"9" * 5000 + b'", "events": []}', "not a run record"),
        (b'{"schema": "somebody.else/1"}', "not a run record"),
        (b" " * (MAX_MEGABYTES * 1_000_000 + 1), "larger than"),
        (dumps(story_run()).replace(b'"start_ns":500000', b'"start_ns":-500000', 1), "cannot stand"),
        (dumps(story_run()).replace(b'"start_ns":500000', b'"start_ns":NaN', 1), "not valid JSON"),
        (dumps(story_run()).replace(b'"start_position":0', b'"start_position":90071992547', 1), "positions"),
        (dumps(story_run()).replace(b'"context_length":2048', b'"context_length":0', 1), "context_length is 0"),
    ],
    ids=lambda value: value[:30] if isinstance(value, str) else "",
)  # fmt: skip
def test_what_is_wrong_is_said(raw, told):
    problem = read_file(raw)
    assert isinstance(problem, str) and told in problem
