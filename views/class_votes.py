"""What a class thinks before it knows: a first vote, talk, a second vote, and then the run.

Two votes with talk between them are Mazur's peer instruction (E. Mazur, "Peer Instruction", 1997; Crouch and Mazur,
Am. J. Phys. 69, 970, 2001). How many have voted is known at any time; what they voted is told only after the vote has
closed. Votes are counted by seat, never listed by person.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

from lessons.questions import Answer
from views.attempt_store import answer_of
from views.class_store import LASTS_S, Class, ClassStore

Phase = Literal["first", "talk", "second", "done", "revealed"]
"""First vote open; closed, and people talk; second vote open; closed; the answer is out."""
PHASES: tuple[Phase, ...] = get_args(Phase)
Round = Literal[1, 2]
ROUND_OF: Mapping[Phase, Round] = {"first": 1, "second": 2}
"""The phases in which a vote is open."""

Voting = Literal["counted", "closed", "ended", "not_kept"]
Key = tuple[str, str]
"""Lesson and question."""


@dataclass(frozen=True)
class Tally:
    """What a class voted: how often each pair of first and second answer; None where that vote was not given."""

    pairs: Mapping[tuple[Answer | None, Answer | None], int]

    def of_round(self, number: Round) -> Counter[Answer]:
        """Answer -> how many gave it in this round."""
        found: Counter[Answer] = Counter()
        for pair, n in self.pairs.items():
            if (answer := pair[number - 1]) is not None:
                found[answer] += n
        return found

    @property
    def n_both(self) -> int:
        """How many voted twice."""
        return sum(n for (first, second), n in self.pairs.items() if first is not None and second is not None)

    @property
    def n_changed(self) -> int:
        """How many of these gave another answer the second time."""
        return sum(n for (first, second), n in self.pairs.items() if None not in (first, second) and first != second)


class Glance(NamedTuple):
    """A question in a class at a moment."""

    is_live: bool
    phase: Phase | None
    n_first: int
    n_second: int
    n_learners: int


class ClassVotes:
    """The votes of all classes, in the classes' file. Any thread, any process; no method raises."""

    def __init__(self, store: ClassStore) -> None:
        self._store = store
        self._database = store.database

    def phases(self, class_id: int) -> dict[Key, Phase]:
        """Where each question that has been opened is; what was changed last stands last."""
        rows = self._rows("SELECT lesson, question, phase FROM polls WHERE class = ? ORDER BY rowid", (class_id,))
        return {(lesson, question): phase for lesson, question, phase in rows}

    def advance(self, one: Class, key: Key, was: Phase | None, to: Phase) -> bool:
        """Go on from one phase to a later one; False if somebody has gone on already, or the class has ended.

        None: the question has not been opened. In a class for one lesson, the first vote of each of its questions is
        open from the beginning.
        """
        if was is not None and PHASES.index(to) <= PHASES.index(was):
            return False
        return self._database.attempt(lambda: self._advance(one, key, was, to), otherwise=False)

    def vote(self, seat: int, key: Key, number: Round, answer: Answer) -> Voting:
        """Count a vote; another one of the same round takes its place while that round is open."""
        return self._database.attempt(lambda: self._vote(seat, key, number, answer), otherwise="not_kept")

    def own(self, seat: int, key: Key) -> dict[Round, Answer]:
        """What a seat has voted."""
        query = "SELECT round, answer FROM votes WHERE seat = ? AND lesson = ? AND question = ?"
        return {number: answer_of(answer) for number, answer in self._rows(query, (seat, *key))}

    def glance(self, class_id: int, key: Key) -> Glance:
        """What may be told at any time: the phase, and how many have voted, not what."""
        voted = """(SELECT count(*) FROM votes JOIN seats USING (seat)
                    WHERE class = :class AND votes.lesson = :lesson AND question = :question AND round = {})"""
        query = f"""SELECT classes.lesson, began, ended,
                           (SELECT phase FROM polls WHERE class = :class AND lesson = :lesson AND question = :question),
                           {voted.format(1)}, {voted.format(2)}, (SELECT count(*) FROM seats WHERE class = :class)
                    FROM classes WHERE class = :class"""
        rows = self._rows(query, {"class": class_id, "lesson": key[0], "question": key[1]})
        if not rows:
            return Glance(False, None, 0, 0, 0)
        lesson, began, ended, phase, first, second, learners = rows[0]
        is_live = ended is None and began > self._store.now() - LASTS_S
        return Glance(is_live, phase or phase_at_first(lesson, key), first, second, learners)

    def tally(self, class_id: int, key: Key) -> Tally:
        """What was voted, seat by seat but without the seats."""
        each = "(SELECT answer FROM votes WHERE votes.seat = seats.seat AND lesson = ? AND question = ? AND round = {})"
        query = f"SELECT {each.format(1)}, {each.format(2)} FROM seats WHERE class = ?"
        rows = self._rows(query, (*key, *key, class_id))
        pairs = Counter((_read(first), _read(second)) for first, second in rows)
        del pairs[(None, None)]
        return Tally(pairs)

    def shared(self, class_id: int, key: Key) -> dict[int, Answer]:
        """Seat -> its last answer, of those alone who let the teacher see it."""
        query = """SELECT seat, answer FROM votes JOIN seats USING (seat)
                   WHERE class = ? AND answers = 1 AND lesson = ? AND question = ? ORDER BY round"""
        return {seat: answer_of(answer) for seat, answer in self._rows(query, (class_id, *key))}

    def _advance(self, one: Class, key: Key, was: Phase | None, to: Phase) -> bool:
        with self._database.writing() as database:
            database.execute("BEGIN IMMEDIATE")
            if not self._is_live(database, one.id) or self._phase(database, one.id, one.lesson, key) != was:
                return False
            database.execute("INSERT OR REPLACE INTO polls VALUES (?, ?, ?, ?)", (one.id, *key, to))
        return True

    def _vote(self, seat: int, key: Key, number: Round, answer: Answer) -> Voting:
        with self._database.writing() as database:
            database.execute("BEGIN IMMEDIATE")
            query = "SELECT class, lesson FROM seats JOIN classes USING (class) WHERE seat = ?"
            row = database.execute(query, (seat,)).fetchone()
            if row is None or not self._is_live(database, row[0]):
                return "ended"
            phase = self._phase(database, row[0], row[1], key)
            if phase is None or ROUND_OF.get(phase) != number:
                return "closed"
            database.execute(
                "INSERT OR REPLACE INTO votes VALUES (?, ?, ?, ?, ?)", (seat, *key, number, json.dumps(answer))
            )
        return "counted"

    def _is_live(self, database: sqlite3.Connection, class_id: int) -> bool:
        query = "SELECT 1 FROM classes WHERE class = ? AND ended IS NULL AND began > ?"
        return database.execute(query, (class_id, self._store.now() - LASTS_S)).fetchone() is not None

    @staticmethod
    def _phase(database: sqlite3.Connection, class_id: int, lesson: str, key: Key) -> Phase | None:
        query = "SELECT phase FROM polls WHERE class = ? AND lesson = ? AND question = ?"
        row = database.execute(query, (class_id, *key)).fetchone()
        return row[0] if row else phase_at_first(lesson, key)

    def _rows(self, query: str, values: tuple[str | int, ...] | dict[str, str | int]) -> list[tuple]:
        def rows() -> list[tuple]:
            with self._database.reading() as database:
                return database.execute(query, values).fetchall() if database else []

        return self._database.attempt(rows, otherwise=[])


def phase_at_first(class_lesson: str, key: Key) -> Phase | None:
    """Where a question is that nobody has touched: open in a class for its lesson, else not part of the class."""
    return "first" if class_lesson == key[0] else None


def _read(answer: str | None) -> Answer | None:
    return None if answer is None else answer_of(answer)
