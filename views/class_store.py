"""Classes and who sits in them: a code, a lesson or the whole course, and pseudonyms. Nobody's name is asked for.

A learner in a class is a visitor (views/attempt_store.py), so a reload, another tab or a resume code finds the seat
again, and deleting one's data takes it, with every vote. A class ends by its teacher or after twelve hours; 30 days
later it goes, with all that was voted in it.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from views import attempt_store
from views.class_names import new_class_code, new_pseudonym, normal_class_code
from views.database import KEEP_DAYS, Database

MOST_LEARNERS = 200
MOST_CLASSES = 50
"""Under way at once on one server."""
LASTS_S = 12 * 3600.0

SCHEMA = (
    attempt_store.SCHEMA
    + """
CREATE TABLE IF NOT EXISTS classes (
    class   INTEGER PRIMARY KEY,
    code    TEXT NOT NULL UNIQUE,
    teacher INTEGER REFERENCES visitors ON DELETE SET NULL,
    lesson  TEXT NOT NULL,          -- the lesson's address; empty for the whole course
    began   REAL NOT NULL,          -- wall clock, seconds since 1970
    ended   REAL                    -- NULL while it goes on
) STRICT;
CREATE TABLE IF NOT EXISTS seats (
    seat    INTEGER PRIMARY KEY,
    class   INTEGER NOT NULL REFERENCES classes ON DELETE CASCADE,
    visitor INTEGER NOT NULL REFERENCES visitors ON DELETE CASCADE,
    name    TEXT NOT NULL,          -- the pseudonym
    joined  REAL NOT NULL,
    answers INTEGER NOT NULL DEFAULT 0,     -- 1: the teacher may see this one's answers beside the pseudonym
    prompts INTEGER NOT NULL DEFAULT 0,     -- 1: the class's recording may hold this one's prompts
    UNIQUE (class, visitor),
    UNIQUE (class, name)
) STRICT;
CREATE TABLE IF NOT EXISTS polls (
    class    INTEGER NOT NULL REFERENCES classes ON DELETE CASCADE,
    lesson   TEXT NOT NULL,
    question TEXT NOT NULL,
    phase    TEXT NOT NULL,
    PRIMARY KEY (class, lesson, question)
) STRICT;
CREATE TABLE IF NOT EXISTS votes (
    seat     INTEGER NOT NULL REFERENCES seats ON DELETE CASCADE,
    lesson   TEXT NOT NULL,
    question TEXT NOT NULL,
    round    INTEGER NOT NULL,      -- 1 or 2
    answer   TEXT NOT NULL,         -- JSON: a number, or the key of an option
    PRIMARY KEY (seat, lesson, question, round)
) STRICT;
CREATE TABLE IF NOT EXISTS class_runs (
    seat    INTEGER NOT NULL REFERENCES seats ON DELETE CASCADE,
    run_id  TEXT NOT NULL,
    at      REAL NOT NULL,          -- wall clock when the engine had taken it in
    PRIMARY KEY (seat, run_id)
) STRICT;
"""
)

Joining = Literal["joined", "unknown", "ended", "full", "not_kept"]


@dataclass(frozen=True)
class Class:
    """A class. `lesson` empty: the whole course."""

    id: int
    code: str
    lesson: str
    began: float
    is_live: bool


@dataclass(frozen=True)
class Seat:
    """A learner's place in a class that goes on."""

    id: int
    class_id: int
    code: str
    lesson: str
    began: float
    name: str
    shares_answers: bool
    shares_prompts: bool


@dataclass(frozen=True)
class Learner:
    """A line of the class list. What was tried is the last question, in `lesson`; answers are not in here."""

    seat: int
    name: str
    shares_answers: bool
    n_tried: int
    n_runs: int
    lesson: str
    question: str


class ClassStore:
    """Safe to use from any thread and from several processes. No method raises."""

    def __init__(self, folder: Path | None = None, clock: Callable[[], float] = time.time) -> None:
        self.database = Database(folder, SCHEMA, "classes")
        self._clock = clock

    def now(self) -> float:
        """The wall clock of this store, seconds since 1970."""
        return self._clock()

    def start(self, teacher: int | None, lesson: str) -> Class | None:
        """Begin a class; None if it cannot be kept, or there are too many. `teacher` is a visitor."""
        return self.database.attempt(lambda: self._start(teacher, lesson), otherwise=None)

    def end(self, class_id: int) -> bool:
        """End a class, for good."""
        query = "UPDATE classes SET ended = ? WHERE class = ? AND ended IS NULL"
        return self._change(query, self._clock(), class_id)

    def find(self, code: str) -> Class | None:
        """The class of a code, also one that has ended; None if there is none."""
        rows = self._rows(f"SELECT {_CLASS} FROM classes WHERE code = ?", normal_class_code(code))
        return self._class(rows[0]) if rows else None

    def of_teacher(self, browser: str) -> list[Class]:
        """The classes that go on of whoever uses this browser, the newest first."""
        query = f"""SELECT {_CLASS} FROM classes JOIN browsers ON teacher = visitor
                    WHERE browser = ? AND ended IS NULL AND began > ? ORDER BY class DESC"""
        return [self._class(row) for row in self._rows(query, browser, self._clock() - LASTS_S)]

    def join(self, visitor: int, code: str) -> Joining:
        """Give a visitor a seat; whoever has one keeps it, and comes back to it from another class."""
        return self.database.attempt(lambda: self._join(visitor, code), otherwise="not_kept")

    def seat_of(self, browser: str) -> Seat | None:
        """The seat of whoever uses this browser, in the class joined last of those that go on."""
        query = f"""SELECT {_SEAT} FROM browsers JOIN seats USING (visitor) JOIN classes USING (class)
                    WHERE browser = ? AND ended IS NULL AND began > ? ORDER BY joined DESC, seat DESC LIMIT 1"""
        rows = self._rows(query, browser, self._clock() - LASTS_S)
        if not rows:
            return None
        seat, class_id, code, lesson, began, name, answers, prompts = rows[0]
        return Seat(seat, class_id, code, lesson, began, name, bool(answers), bool(prompts))

    def rename(self, seat: Seat) -> bool:
        """Draw another pseudonym."""
        return self.database.attempt(lambda: self._rename(seat), otherwise=False)

    def leave(self, seat: Seat) -> bool:
        """Give the seat up; its votes go with it."""
        return self._change("DELETE FROM seats WHERE seat = ?", seat.id)

    def share(self, seat: Seat, *, answers: bool, prompts: bool) -> bool:
        """What a learner lets the teacher have beyond the pseudonym."""
        query = "UPDATE seats SET answers = ?, prompts = ? WHERE seat = ?"
        return self._change(query, int(answers), int(prompts), seat.id)

    def note_run(self, browser: str, run_id: str) -> None:
        """A run has begun; it belongs to the class that its learner sits in, if any."""
        if seat := self.seat_of(browser):
            self._change("INSERT OR IGNORE INTO class_runs VALUES (?, ?, ?)", seat.id, run_id, self._clock())

    def runs(self, class_id: int) -> list[tuple[str, str, float, bool]]:
        """(run id, pseudonym, wall clock when it began, whether its prompt may be told), in order."""
        query = """SELECT run_id, name, at, prompts FROM class_runs JOIN seats USING (seat)
                   WHERE class = ? ORDER BY at, class_runs.rowid"""
        return [(run_id, name, at, bool(told)) for run_id, name, at, told in self._rows(query, class_id)]

    def n_learners(self, class_id: int) -> int:
        """How many have a seat."""
        rows = self._rows("SELECT count(*) FROM seats WHERE class = ?", class_id)
        return int(rows[0][0]) if rows else 0

    def learners(self, one: Class) -> list[Learner]:
        """The class list in the order of joining: what each has tried and run since the class began."""
        since = datetime.fromtimestamp(one.began, UTC).isoformat()
        tried = """SELECT visitor, count(DISTINCT lesson || ' ' || question) AS n, max(attempt) AS newest FROM attempts
                   WHERE at >= ? AND visitor IN (SELECT visitor FROM seats WHERE class = ?) GROUP BY visitor"""
        query = f"""SELECT seat, name, answers, coalesce(n, 0),
                           (SELECT count(*) FROM class_runs WHERE class_runs.seat = seats.seat),
                           coalesce(attempts.lesson, ''), coalesce(attempts.question, '')
                    FROM seats LEFT JOIN ({tried}) AS tried USING (visitor) LEFT JOIN attempts ON attempt = newest
                    WHERE class = ? ORDER BY seat"""
        rows = self._rows(query, since, one.id, one.id)
        return [Learner(row[0], row[1], bool(row[2]), *row[3:]) for row in rows]

    def _start(self, teacher: int | None, lesson: str) -> Class | None:
        now = self._clock()
        with self.database.writing() as database:
            database.execute("BEGIN IMMEDIATE")
            database.execute("DELETE FROM classes WHERE began < ?", (now - LASTS_S - KEEP_DAYS * 86400,))
            live = "SELECT count(*) FROM classes WHERE ended IS NULL AND began > ?"
            if database.execute(live, (now - LASTS_S,)).fetchone()[0] >= MOST_CLASSES:
                return None
            known = {code for (code,) in database.execute("SELECT code FROM classes")}
            code = next(one for one in iter(new_class_code, None) if one not in known)
            row = "INSERT INTO classes (code, teacher, lesson, began) VALUES (?, ?, ?, ?)"
            made = database.execute(row, (code, teacher, lesson, now))
            return Class(made.lastrowid or 0, code, lesson, now, is_live=True)

    def _join(self, visitor: int, code: str) -> Joining:
        with self.database.writing() as database:
            database.execute("BEGIN IMMEDIATE")  # a whole class joins at once, and no two draw the same name
            row = database.execute(
                f"SELECT {_CLASS} FROM classes WHERE code = ?", (normal_class_code(code),)
            ).fetchone()
            if row is None:
                return "unknown"
            one = self._class(row)
            if not one.is_live:
                return "ended"
            taken = {name for (name,) in database.execute("SELECT name FROM seats WHERE class = ?", (one.id,))}
            # Coming back makes this the class joined last again.
            back = "UPDATE seats SET joined = ? WHERE class = ? AND visitor = ?"
            if database.execute(back, (self._clock(), one.id, visitor)).rowcount:
                return "joined"
            if len(taken) >= MOST_LEARNERS:
                return "full"
            new = "INSERT INTO seats (class, visitor, name, joined) VALUES (?, ?, ?, ?)"
            database.execute(new, (one.id, visitor, new_pseudonym(taken), self._clock()))
        return "joined"

    def _rename(self, seat: Seat) -> bool:
        with self.database.writing() as database:
            database.execute("BEGIN IMMEDIATE")
            taken = {name for (name,) in database.execute("SELECT name FROM seats WHERE class = ?", (seat.class_id,))}
            database.execute("UPDATE seats SET name = ? WHERE seat = ?", (new_pseudonym(taken), seat.id))
        return True

    def _class(self, row: sqlite3.Row | tuple) -> Class:
        class_id, code, lesson, began, ended = row
        return Class(class_id, code, lesson, began, ended is None and began > self._clock() - LASTS_S)

    def _change(self, query: str, *values: str | float) -> bool:
        def change() -> bool:
            with self.database.writing() as database:
                return database.execute(query, values).rowcount > 0

        return self.database.attempt(change, otherwise=False)

    def _rows(self, query: str, *values: str | float) -> list[tuple]:
        def rows() -> list[tuple]:
            with self.database.reading() as database:
                return database.execute(query, values).fetchall() if database else []

        return self.database.attempt(rows, otherwise=[])


_CLASS = "class, code, lesson, began, ended"
_SEAT = "seat, class, code, lesson, began, name, answers, prompts"
