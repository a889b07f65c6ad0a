"""Learners' answers, kept for good under a random name: every attempt, in order, and which runs were theirs.

A visitor is a row without a person: a code to come back with, and when they were last here. A browser is tied to a
visitor by the hash of its cookie, so the file holds nothing that would open somebody's work from another browser but
the code. A visitor who has not been here for 30 days goes, with everything that is theirs.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from lessons.questions import Answer
from views.database import KEEP_DAYS, Database
from views.resume_code import new_code, normal_form

MAX_ATTEMPTS = 5_000
"""Of one visitor; beyond it their oldest go."""
MAX_RUNS = 1_000
MAX_ALL = 500_000
"""Attempts of everybody together, about 100 MB; beyond it the oldest go."""

SCHEMA = """
CREATE TABLE IF NOT EXISTS visitors (
    visitor INTEGER PRIMARY KEY,
    code    TEXT NOT NULL UNIQUE,   -- the resume code
    seen_at REAL NOT NULL           -- wall clock, seconds since 1970
) STRICT;
CREATE TABLE IF NOT EXISTS browsers (
    browser TEXT PRIMARY KEY,       -- hash of the cookie
    visitor INTEGER NOT NULL REFERENCES visitors ON DELETE CASCADE
) STRICT;
CREATE TABLE IF NOT EXISTS attempts (
    attempt  INTEGER PRIMARY KEY,
    visitor  INTEGER NOT NULL REFERENCES visitors ON DELETE CASCADE,
    lesson   TEXT NOT NULL,
    question TEXT NOT NULL,
    answer   TEXT NOT NULL,         -- JSON: a number, a list of them, the key of an option, or null: passed over
    correct  INTEGER,               -- 1, 0; NULL for a guess, which its run decides
    at       TEXT NOT NULL          -- ISO 8601, UTC
) STRICT;
CREATE INDEX IF NOT EXISTS attempts_of_visitor ON attempts (visitor);
CREATE TABLE IF NOT EXISTS own_runs (
    visitor INTEGER NOT NULL REFERENCES visitors ON DELETE CASCADE,
    run_id  TEXT NOT NULL,
    PRIMARY KEY (visitor, run_id)
) STRICT;
"""


@dataclass(frozen=True)
class Attempt:
    """One answer. `right` is None for a guess: whether it was right, its run decides. `answer` None: passed over."""

    lesson: str
    question: str
    answer: Answer | None
    right: bool | None
    at: datetime


class AttemptStore:
    """Safe to use from any thread and from several processes. No method but those that delete raises."""

    def __init__(
        self,
        folder: Path | None = None,
        clock: Callable[[], float] = time.time,
        max_attempts: int = MAX_ATTEMPTS,
        max_all: int = MAX_ALL,
    ) -> None:
        self._database = Database(folder, SCHEMA, "answers")
        self._clock = clock
        self._max_attempts = max_attempts
        self._max_all = max_all

    def save(self, browser: str, attempt: Attempt) -> bool:
        """Keep an attempt of whoever uses this browser; False if it could not be kept."""
        return self._database.attempt(lambda: self._save(browser, attempt), otherwise=False)

    def save_run(self, browser: str, run_id: str) -> bool:
        """Remember that a run was started from this browser; the run itself is kept by `views.store`."""
        return self._database.attempt(lambda: self._save_run(browser, run_id), otherwise=False)

    def load(self, browser: str) -> list[Attempt]:
        """Every attempt of whoever uses this browser, oldest first."""
        query = "SELECT lesson, question, answer, correct, at FROM attempts JOIN browsers USING (visitor) "
        rows = self._rows(query + "WHERE browser = ? ORDER BY attempt", browser)
        return [
            Attempt(lesson, question, answer_of(answer), None if right is None else bool(right), _time(at))
            for lesson, question, answer, right, at in rows
        ]

    def runs(self, browser: str) -> list[str]:
        """The ids of the runs started by whoever uses this browser, oldest first."""
        query = "SELECT run_id FROM own_runs JOIN browsers USING (visitor) WHERE browser = ? ORDER BY own_runs.rowid"
        return [run_id for (run_id,) in self._rows(query, browser)]

    def forget_run(self, browser: str, run_id: str) -> bool:
        """A run has been deleted: drop that it was started from this browser."""
        return self._database.attempt(lambda: self._forget_run(browser, run_id), otherwise=False)

    def code(self, browser: str) -> str | None:
        """The resume code; None as long as nothing has been kept."""
        rows = self._rows("SELECT code FROM visitors JOIN browsers USING (visitor) WHERE browser = ?", browser)
        return rows[0][0] if rows else None

    def visitor(self, browser: str) -> int | None:
        """The row of whoever uses this browser, made if there is none; None if nothing can be kept."""
        return self._database.attempt(lambda: self._kept_visitor(browser), otherwise=None)

    def resume(self, browser: str, code: str) -> bool:
        """Let this browser go on with the work that a code names; False if no work has that code."""
        return self._database.attempt(lambda: self._resume(browser, code), otherwise=False)

    def leave(self, browser: str) -> bool:
        """Let this browser begin anew; the work stays, for whoever has its code."""
        return self._database.attempt(lambda: self._leave(browser), otherwise=False)

    def count(self) -> int:
        """How many attempts are kept, of everybody."""
        rows = self._rows("SELECT count(*) FROM attempts")
        return int(rows[0][0]) if rows else 0

    def delete(self, browser: str) -> None:
        """Delete all that is kept of whoever uses this browser; raises `sqlite3.Error` or `OSError`."""
        if self._database.path.exists():
            with self._database.deleting() as database:
                database.execute(
                    "DELETE FROM visitors WHERE visitor IN (SELECT visitor FROM browsers WHERE browser = ?)", (browser,)
                )

    def delete_all(self) -> int:
        """Delete everybody's; returns how many attempts there were; raises `sqlite3.Error` or `OSError`."""
        if not self._database.path.exists():
            return 0
        with self._database.deleting() as database:
            gone = database.execute("DELETE FROM attempts").rowcount
            database.execute("DELETE FROM visitors")
        return gone

    def drop_old(self) -> int:
        """Delete the visitors who were not here for long enough, with all that is theirs; returns how many."""
        before = self._clock() - KEEP_DAYS * 86400
        return self._database.attempt(lambda: self._database.drop("visitors", "seen_at", before), otherwise=0)

    def _save(self, browser: str, attempt: Attempt) -> bool:
        right = None if attempt.right is None else int(attempt.right)
        row = (attempt.lesson, attempt.question, json.dumps(attempt.answer), right, attempt.at.isoformat())
        with self._database.writing() as database:
            visitor = self._visitor(database, browser)
            columns = "(visitor, lesson, question, answer, correct, at)"
            database.execute(f"INSERT INTO attempts {columns} VALUES (?, ?, ?, ?, ?, ?)", (visitor, *row))
            newest = "SELECT attempt FROM attempts WHERE visitor = ? ORDER BY attempt DESC LIMIT ?"
            database.execute(
                f"DELETE FROM attempts WHERE visitor = ? AND attempt NOT IN ({newest})",
                (visitor, visitor, self._max_attempts),
            )
            self._drop_old(database)
        return True

    def _save_run(self, browser: str, run_id: str) -> bool:
        with self._database.writing() as database:
            visitor = self._visitor(database, browser)
            database.execute("INSERT OR IGNORE INTO own_runs VALUES (?, ?)", (visitor, run_id))
            newest = "SELECT rowid FROM own_runs WHERE visitor = ? ORDER BY rowid DESC LIMIT ?"
            database.execute(
                f"DELETE FROM own_runs WHERE visitor = ? AND rowid NOT IN ({newest})", (visitor, visitor, MAX_RUNS)
            )
        return True

    def _kept_visitor(self, browser: str) -> int:
        with self._database.writing() as database:
            return self._visitor(database, browser)

    def _forget_run(self, browser: str, run_id: str) -> bool:
        own = "visitor IN (SELECT visitor FROM browsers WHERE browser = ?)"
        with self._database.writing() as database:
            return database.execute(f"DELETE FROM own_runs WHERE {own} AND run_id = ?", (browser, run_id)).rowcount > 0

    def _visitor(self, database: sqlite3.Connection, browser: str) -> int:
        """The visitor of a browser, seen now; a new one if it has none."""
        row = database.execute("SELECT visitor FROM browsers WHERE browser = ?", (browser,)).fetchone()
        if row:
            database.execute("UPDATE visitors SET seen_at = ? WHERE visitor = ?", (self._clock(), row[0]))
            return int(row[0])
        made = database.execute("INSERT INTO visitors (code, seen_at) VALUES (?, ?)", (new_code(), self._clock()))
        database.execute("INSERT INTO browsers VALUES (?, ?)", (browser, made.lastrowid))
        return made.lastrowid or 0

    def _drop_old(self, database: sqlite3.Connection) -> None:
        database.execute("DELETE FROM visitors WHERE seen_at < ?", (self._clock() - KEEP_DAYS * 86400,))
        excess = database.execute("SELECT count(*) FROM attempts").fetchone()[0] - self._max_all
        if excess > 0:
            oldest = "SELECT attempt FROM attempts ORDER BY attempt LIMIT ?"
            database.execute(f"DELETE FROM attempts WHERE attempt IN ({oldest})", (excess,))

    def _resume(self, browser: str, code: str) -> bool:
        with self._database.writing() as database:
            row = database.execute("SELECT visitor FROM visitors WHERE code = ?", (normal_form(code),)).fetchone()
            if row is None:
                return False
            database.execute("INSERT OR REPLACE INTO browsers VALUES (?, ?)", (browser, row[0]))
            database.execute("UPDATE visitors SET seen_at = ? WHERE visitor = ?", (self._clock(), row[0]))
        return True

    def _leave(self, browser: str) -> bool:
        with self._database.writing() as database:
            return database.execute("DELETE FROM browsers WHERE browser = ?", (browser,)).rowcount > 0

    def _rows(self, query: str, *values: str) -> list[tuple[str, ...]]:
        def rows() -> list[tuple[str, ...]]:
            with self._database.reading() as database:
                return database.execute(query, values).fetchall() if database else []

        return self._database.attempt(rows, otherwise=[])


def answer_of(kept: str) -> Any:
    """An `Answer`, or None, as it was kept in JSON, which has a list where a curve is a tuple."""
    answer = json.loads(kept)
    return tuple(answer) if isinstance(answer, list) else answer


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)
