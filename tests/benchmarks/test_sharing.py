"""The benchmark of sharing plays the scenes that it names, takes each step at its fastest, and keeps them."""

import json

import msgspec
import pytest

from benchmarks import sharing
from engine import Engine
from lessons import playback
from tests.engine.small_model import write_small_model


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_small_model(tmp_path_factory.mktemp("models") / "small")


@pytest.fixture(scope="module")
def engine(folder):
    return Engine.load(folder, threads=1)


def test_everyone_at_once_takes_part_in_the_same_steps(engine):
    one = sharing.together(engine, "wall", 4)
    assert len(one.arrivals) == 4
    assert all(len(one.token_ns(ticket)) == sharing.NEW_TOKENS for ticket in one.arrivals)
    assert max(len(row.shares) for row in one.rows) == 4
    assert all(0 <= at <= one.rows[0].start_ns for at in one.arrivals.values())


def test_the_long_prompt_comes_among_decoders_and_is_cut_as_asked(engine, monkeypatch):
    monkeypatch.setattr(sharing, "LONG_PROMPT", 100)
    for chunk, steps in ((None, 1), (30, 4)):
        one = sharing.collision(engine, "wall", chunk)
        long = max(one.arrivals)
        reads = [row for row, share in one.shares_of(long) if share.phase == "prefill"]
        assert len(reads) == steps and all(len(row.shares) == 1 + sharing.DECODERS for row in reads)
        assert one.rows[sharing.BEFORE - 1].end_ns <= one.arrivals[long] <= one.rows[sharing.BEFORE].start_ns


def test_each_step_is_as_short_as_it_ever_was(engine):
    rounds = [sharing.together(engine, "wall", 2) for _ in range(3)]
    best = sharing.at_their_fastest(rounds)
    for number, row in enumerate(best.rows):
        durations = [one.rows[number].end_ns - one.rows[number].start_ns for one in rounds]
        assert row.end_ns - row.start_ns == min(durations)
    with pytest.raises(ValueError, match="did not plan the same"):
        sharing.at_their_fastest([rounds[0], msgspec.structs.replace(rounds[1], rows=rounds[1].rows[::-1])])


def test_it_prints_a_table_and_a_last_line_of_json_and_keeps_the_measurement(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sharing, "COPIES", (1, 2))
    kept = []
    monkeypatch.setattr(playback, "save", lambda name, taken: kept.append((name, taken)))
    sharing.main(["together"], model=str(folder), rounds=1, threads=1, processor_time=True, keep=True)
    *table, last = capsys.readouterr().out.splitlines()
    assert "tokens/s of all" in "".join(table)
    assert [row[0] for row in json.loads(last)["results"]["together"]] == ["one alone", "2 at once"]
    ((name, taken),) = kept
    assert name == "together" and "processor time" in taken.how and len(taken.playbacks) == 2
