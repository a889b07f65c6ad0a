"""Saving, loading, and what a person is told about a file that is not a run."""

import json
import os

import msgspec
import pytest

from engine.account import record_file
from engine.account.record import Candidate, Emission, End, Error, Run
from engine.account.record_file import RecordError, decode_event, dumps, encode_event, load, loads, save
from tests.engine.builders import header, one_pass, run_of, token


@pytest.fixture
def run():
    return run_of([(10, 20), (20, 25), (26, 30)], prompt="h\x00e\n<b>")


def document(run):
    return json.loads(dumps(run))


def refusal(changed):
    raw = changed if isinstance(changed, bytes | str) else json.dumps(changed)
    with pytest.raises(RecordError) as caught:
        loads(raw)
    return str(caught.value)


def test_a_saved_run_loads_equal(run, tmp_path):
    save(run, tmp_path / "run.json")
    assert load(tmp_path / "run.json") == run


def test_a_streamed_run_is_the_same_events_one_line_each(run):
    lines = [encode_event(event) for event in run.events]
    assert all(b"\n" not in line for line in lines)
    assert [decode_event(line) for line in lines] == run.events


def test_a_run_that_has_not_ended_or_failed_loads_too(run):
    unfinished = Run(run.events[:-1])
    assert loads(dumps(unfinished)).end is None
    failed = Run([*run.events[:-1], Error(len(run.events) - 1, "engine_lost", "The engine was lost.")])
    assert loads(dumps(failed)).end.code == "engine_lost"


def test_half_a_character_survives():
    emission = Emission(token(200), 1, [Candidate(token(200), 1.0, 1.0, 1.0)], 0)
    event = msgspec.structs.replace(one_pass(1, 0, 0, 1), emitted=[emission])
    assert decode_event(encode_event(event)).emitted[0].token.raw == b"\xc8"


def test_an_interrupted_save_leaves_the_old_file_and_no_litter(run, tmp_path, monkeypatch):
    path = tmp_path / "run.json"
    save(run, path)
    before = path.read_bytes()

    def full_disk(_):
        raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OSError, match="no space"):
        save(Run(run.events[:2]), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_is_cut_off_anywhere_is_refused_as_such(run):
    raw = dumps(run).rstrip()
    for length in range(1, len(raw), 7):
        message = refusal(raw[:length])
        assert "cut off" in message


def test_other_broken_files_get_a_sentence_not_a_traceback(run):
    assert "empty" in refusal(b"  \n")
    assert "not valid JSON" in refusal(b"<html>hello</html>")
    assert "not valid JSON" in refusal(b'\xff\xfe{"a": 1}')
    assert "not a run record" in refusal(b"[1, 2]")
    assert "not a run record" in refusal(b"{}")
    assert "nested too deeply" in refusal('{"x": ' + "[" * 100_000 + "]" * 100_000 + ', "schema": "twospeeds.run/1"}')


def test_another_schema_is_named(run):
    newer = {**document(run), "schema": "twospeeds.run/2", "shiny": True}
    assert "twospeeds.run/2, newer than" in refusal(newer)
    assert "'twospeeds.trace/1'" in refusal({**document(run), "schema": "twospeeds.trace/1"})
    assert "'twospeeds.run/x'" in refusal({**document(run), "schema": "twospeeds.run/x"})
    inner = document(run)
    inner["events"][0]["schema"] = "twospeeds.run/7"
    assert "newer" in refusal(inner)


def test_missing_header_gaps_and_events_after_the_end_are_found(run):
    whole = document(run)
    events = whole["events"]
    assert "no header" in refusal({**whole, "events": []})
    assert "no header" in refusal({**whole, "events": events[1:]})
    assert "Event 2 is missing" in refusal({**whole, "events": events[:2] + events[3:]})
    assert "second header" in refusal({**whole, "events": [events[0], {**events[0], "index": 1}]})
    late = [*events, {**events[1], "index": len(events)}]
    assert "ends the run, yet more" in refusal({**whole, "events": late})


def test_a_gap_in_the_pass_numbers_is_found(run):
    whole = document(run)
    whole["events"][3]["number"] = 5
    assert "Pass 1 is missing" in refusal(whole)


def test_what_types_say_is_checked_and_the_place_is_named(run):
    whole = document(run)
    whole["events"][2]["end_ns"] = "soon"
    assert "$.events[2].end_ns" in refusal(whole)
    whole = document(run)
    whole["events"][2]["colour"] = "red"
    assert "colour" in refusal(whole)


def test_tokens_that_a_page_could_not_decode_are_refused(run):
    whole = document(run)
    whole["events"][0]["prompt_tokens"][0]["bytes"] = "not base64!"
    assert "base64" in refusal(whole)


def test_a_choice_that_is_not_among_its_candidates_is_refused(run):
    whole = document(run)
    whole["events"][2]["emitted"][0]["candidates"] = []
    assert "not among its candidates" in refusal(whole)


def test_a_bad_file_is_named(tmp_path):
    (tmp_path / "mine.json").write_text("{")
    with pytest.raises(RecordError, match=r"^mine\.json: "):
        load(tmp_path / "mine.json")


def test_a_line_of_a_stream_that_is_no_event_is_refused():
    for line in (b"", b"{", b'{"event": "party", "index": 0}', b"\xff"):
        with pytest.raises(RecordError):
            decode_event(line)


def test_an_unknown_field_of_a_newer_writer_is_not_silently_dropped():
    line = json.dumps({**json.loads(encode_event(End(3, "stop", 5))), "mood": "good"})
    with pytest.raises(RecordError, match="mood"):
        decode_event(line)


def test_checking_a_run_in_memory_is_the_same_check():
    record_file.check(run_of([(1, 2)]))
    with pytest.raises(RecordError, match="no header"):
        record_file.check(Run([]))
    with pytest.raises(RecordError, match="ends before it starts"):
        record_file.check(Run([header(), one_pass(1, 0, 9, 8)]))
