"""The runs that the app keeps: they come back, grow old, can be deleted, and a bad disk costs nothing else."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

from engine.serve.launch import ROOT
from views.attempt_store import Attempt, AttemptStore
from views.database import KEEP_DAYS
from views.store import RunStore

DAY = 86400


class Clock:
    now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    return RunStore(tmp_path / "home")


def test_what_is_saved_comes_back_and_in_another_process_s_store_too(store, tmp_path):
    assert store.save("a", b'{"events": []}')
    assert store.load("a") == b'{"events": []}'
    assert RunStore(tmp_path / "home").load("a") == b'{"events": []}'
    assert store.load("b") is None


def test_saving_again_replaces(store):
    store.save("a", b"first")
    store.save("a", b"second")
    assert (store.load("a"), store.count()) == (b"second", 1)


def test_nothing_is_made_before_something_is_saved(store):
    assert store.load("a") is None and store.count() == 0 and store.delete() == 0
    assert not store.path.parent.exists()


def test_the_newest_runs_of_the_last_while_come_oldest_first(tmp_path):
    clock = Clock()
    store = RunStore(tmp_path, clock=clock)
    for name in ("old", "first", "second", "third"):
        store.save(name, name.encode())
        clock.now += 100
    assert store.recent(350, most=9) == [b"first", b"second", b"third"]
    assert store.recent(350, most=2) == [b"second", b"third"]
    assert RunStore(tmp_path / "none").recent(350, most=9) == []


def test_runs_are_kept_for_thirty_days(tmp_path):
    clock = Clock()
    store = RunStore(tmp_path, clock=clock)
    store.save("old", b"x")
    clock.now += KEEP_DAYS * DAY - 1
    store.save("new", b"x")
    assert store.load("old") == b"x"
    clock.now += 2
    store.save("newer", b"x")
    assert store.load("old") is None and store.load("new") == b"x"


def test_beyond_the_size_the_oldest_go(tmp_path):
    clock = Clock()
    store = RunStore(tmp_path, max_bytes=25_000, clock=clock)
    for name in "abcd":
        clock.now += 1
        store.save(name, os.urandom(10_000))
    assert [name for name in "abcd" if store.load(name)] == ["c", "d"]


def test_deleting_leaves_no_trace_of_the_prompt_in_any_file(store):
    store.save("a", b"my private diary")
    store.save("b", b"another")
    marker = sqlite3.connect(store.path)
    raw = marker.execute("SELECT record FROM runs WHERE run_id = 'a'").fetchone()[0]
    marker.close()
    assert store.delete(["a", "unknown"]) == 1
    assert store.load("a") is None and store.load("b") == b"another"
    assert not any(raw in path.read_bytes() for path in store.path.parent.iterdir())
    assert store.delete() == 1 and store.count() == 0


def test_many_threads_save_at_once_into_a_new_file(store):
    names = [f"run{i}" for i in range(16)]
    threads = [threading.Thread(target=store.save, args=(name, name.encode())) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {name: store.load(name) for name in names} == {name: name.encode() for name in names}


class TestBadDisk:
    def test_a_folder_that_cannot_be_made_is_logged_once_and_nothing_breaks(self, tmp_path, caplog):
        (tmp_path / "file").write_text("in the way")
        store = RunStore(tmp_path / "file" / "home")
        for _ in range(3):
            assert store.save("a", b"x") is False
            assert store.load("a") is None
        assert len(caplog.records) == 1 and "goes on without" in caplog.text

    def test_a_full_disk_is_logged_once_and_what_was_kept_stays(self, store, monkeypatch, caplog):
        store.save("a", b"x")
        connect = sqlite3.connect

        def full(*where, **options) -> sqlite3.Connection:
            database = connect(*where, **options)
            database.execute("PRAGMA max_page_count = 1")
            return database

        monkeypatch.setattr(sqlite3, "connect", full)
        for _ in range(2):
            assert store.save("b", os.urandom(1_000_000)) is False
        assert store.load("a") == b"x"
        assert len(caplog.records) == 1 and "full" in caplog.text

    def test_a_damaged_file_is_logged_once_and_nothing_breaks(self, store, caplog):
        store.save("a", b"x")
        store.path.write_bytes(b"this is no database" * 1000)
        assert store.load("a") is None and store.save("a", b"x") is False and store.count() == 0
        assert len(caplog.records) == 1

    def test_a_damaged_record_is_as_good_as_none(self, store):
        store.save("a", b"x")
        with sqlite3.connect(store.path) as database:
            database.execute("UPDATE runs SET record = x'00ff'")
        assert store.load("a") is None


def test_the_command_says_where_and_deletes(tmp_path):
    def command(word: str) -> str:
        call = [sys.executable, "-m", "views.store", word]
        environment = os.environ | {"TWOSPEEDS_HOME": str(tmp_path)}
        return subprocess.run(call, cwd=ROOT, env=environment, capture_output=True, text=True, check=True).stdout

    RunStore(tmp_path).save("a", b"x")
    answers = AttemptStore(tmp_path)
    answers.save("browser", Attempt("lesson", "question", 3, False, datetime.now(UTC)))
    assert command("where").strip() == f"{tmp_path / 'runs.sqlite3'}: 1 runs, 1 answers"
    assert command("delete").strip() == "Deleted 1 runs and 1 answers."
    assert RunStore(tmp_path).count() == 0 and answers.load("browser") == []
