"""Answers kept for good: they come back in order, in another browser by the code, grow old, and can be deleted."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from lessons.questions import Answer
from views.attempt_store import Attempt, AttemptStore
from views.database import KEEP_DAYS

DAY = 86400


class Clock:
    now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path: Path, clock: Clock) -> AttemptStore:
    return AttemptStore(tmp_path, clock, max_attempts=4, max_all=6)


def attempt(answer: Answer | None, right: bool | None = None, question: str = "passes") -> Attempt:
    return Attempt("one-request", question, answer, right, datetime(2026, 11, 30, 12, tzinfo=UTC))


def answers(store: AttemptStore, browser: str) -> list[object]:
    return [one.answer for one in store.load(browser)]


def test_every_attempt_comes_back_as_it_was_and_in_order(store, tmp_path):
    given = [attempt((0, 2.5, 400)), attempt(2.5, False), attempt("state", True), attempt(None)]
    for one in given:
        assert store.save("mine", one)
    assert AttemptStore(tmp_path).load("mine") == given
    assert [type(one.answer) for one in store.load("mine")] == [tuple, float, str, type(None)]


def test_nobody_reads_what_is_not_theirs_and_who_kept_nothing_has_no_code(store):
    store.save("mine", attempt(1))
    store.save_run("mine", "run-1")
    assert store.load("yours") == [] and store.runs("yours") == [] and store.code("yours") is None


def test_the_code_brings_the_work_to_another_browser_and_both_go_on_with_it(store):
    store.save("mine", attempt(1))
    store.save("laptop", attempt(99))
    code = store.code("mine")
    assert code and store.resume("laptop", code.replace("-", "  ").upper())
    assert answers(store, "laptop") == [1]
    store.save("laptop", attempt(2))
    assert answers(store, "mine") == [1, 2] and store.code("laptop") == code


def test_a_wrong_code_changes_nothing(store):
    store.save("mine", attempt(1))
    assert not store.resume("laptop", "no-such-words-are-here")
    assert answers(store, "laptop") == [] and answers(store, "mine") == [1]


def test_a_browser_that_begins_anew_leaves_the_work_to_its_code(store):
    store.save("shared", attempt(1))
    code = store.code("shared")
    assert code and store.leave("shared") and answers(store, "shared") == []
    store.save("shared", attempt(2))
    assert answers(store, "shared") == [2] and store.code("shared") != code
    assert store.resume("home", code) and answers(store, "home") == [1]


def test_deleting_takes_one_visitor_s_everything_and_nobody_else_s(store, tmp_path):
    store.save("mine", attempt("a-rare-answer"))
    store.save_run("mine", "run-1")
    store.save("yours", attempt(5))
    code = store.code("mine")
    store.delete("mine")
    assert store.load("mine") == [] and store.runs("mine") == [] and answers(store, "yours") == [5]
    assert code and not store.resume("mine", code)
    assert b"a-rare-answer" not in b"".join(path.read_bytes() for path in tmp_path.iterdir())


def test_who_stays_away_for_thirty_days_is_forgotten_and_who_comes_back_is_not(store, clock):
    store.save("away", attempt(1))
    store.save("here", attempt(2))
    clock.now += (KEEP_DAYS - 1) * DAY
    store.save("here", attempt(3))
    clock.now += 2 * DAY
    store.save("here", attempt(4))
    assert answers(store, "away") == [] and store.code("away") is None and answers(store, "here") == [2, 3, 4]


def test_beyond_the_limits_the_oldest_go_first_one_s_own_then_everybody_s(store):
    for number in range(6):
        store.save("mine", attempt(number))
    assert answers(store, "mine") == [2, 3, 4, 5]
    for number in range(4):
        store.save("yours", attempt(number))
    assert answers(store, "mine") == [4, 5] and answers(store, "yours") == [0, 1, 2, 3]


def test_a_disk_that_cannot_be_written_costs_the_keeping_only(tmp_path, caplog):
    (tmp_path / "home").write_text("a file where the folder should be")
    store = AttemptStore(tmp_path / "home")
    assert not store.save("mine", attempt(1)) and not store.save_run("mine", "run-1")
    assert store.load("mine") == [] and store.code("mine") is None
    assert caplog.text.count("cannot be kept") == 1
