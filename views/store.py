"""The finished runs that the app keeps, so that a link to a run works after the engine has forgotten it.

One SQLite file in the user's data folder: records only (a record holds the prompt), nothing about who asked. Kept for
30 days and up to a size, whichever is less. Learners' answers lie in the same file (views/attempt_store.py).

    python -m views.store where     where the file is, and how much it holds
    python -m views.store delete    delete all that is kept, runs and answers
"""

from __future__ import annotations

import sqlite3
import time
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path

import typer

from views.attempt_store import AttemptStore
from views.database import KEEP_DAYS, Database

MAX_BYTES = 256_000_000
"""Compressed records, all together."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS runs (
    run_id   TEXT PRIMARY KEY,
    saved_at REAL NOT NULL,     -- wall clock, seconds since 1970
    record   BLOB NOT NULL      -- the saved form of a run, zlib
) STRICT;
CREATE INDEX IF NOT EXISTS runs_by_age ON runs (saved_at);
"""


class RunStore:
    """Safe to use from any thread and from several processes. No method but `delete` raises."""

    def __init__(
        self, folder: Path | None = None, max_bytes: int = MAX_BYTES, clock: Callable[[], float] = time.time
    ) -> None:
        self._database = Database(folder, _SCHEMA, "finished runs")
        self.path = self._database.path
        self._max_bytes = max_bytes
        self._clock = clock
        self._since_weighed = max_bytes
        """Bytes that were saved since all was last added up: that reads every row, so not each run does it."""

    def save(self, run_id: str, record: bytes) -> bool:
        """Keep a run's saved form (`engine.account.record_file.dumps`); False if it could not be kept."""
        return self._database.attempt(lambda: self._save(run_id, record), otherwise=False)

    def load(self, run_id: str) -> bytes | None:
        """The saved form, or None if it is not kept."""
        return self._database.attempt(lambda: self._load(run_id), otherwise=None)

    def recent(self, seconds: float, most: int) -> list[bytes]:
        """The saved forms of the last so many seconds, the newest `most` of them, oldest first."""
        return self._database.attempt(lambda: self._recent(seconds, most), otherwise=[])

    def count(self) -> int:
        """How many runs are kept."""
        return self._database.attempt(self._count, otherwise=0)

    def delete(self, run_ids: Iterable[str] | None = None) -> int:
        """Delete these runs, or all; returns how many there were.

        Raises `sqlite3.Error` or `OSError`: whoever asked for it must know. What is deleted is overwritten in the
        file, not just unlinked.
        """
        if not self.path.exists():
            return 0
        with self._database.deleting() as database:
            if run_ids is None:
                return database.execute("DELETE FROM runs").rowcount
            return sum(database.execute("DELETE FROM runs WHERE run_id = ?", (one,)).rowcount for one in set(run_ids))

    def drop_old(self) -> int:
        """Delete the runs that were kept long enough; returns how many."""
        before = self._clock() - KEEP_DAYS * 86400
        return self._database.attempt(lambda: self._database.drop("runs", "saved_at", before), otherwise=0)

    def _save(self, run_id: str, record: bytes) -> bool:
        packed = zlib.compress(record)
        with self._database.writing() as database:
            database.execute("INSERT OR REPLACE INTO runs VALUES (?, ?, ?)", (run_id, self._clock(), packed))
            database.execute("DELETE FROM runs WHERE saved_at < ?", (self._clock() - KEEP_DAYS * 86400,))
            self._since_weighed += len(packed)
            if self._since_weighed * 100 >= self._max_bytes:
                self._drop_beyond_size(database)
        return True

    def _drop_beyond_size(self, database: sqlite3.Connection) -> None:
        # By the order of saving: a clock that was set back would make the newest look like the oldest.
        by_age = "SELECT run_id, sum(length(record)) OVER (ORDER BY rowid DESC) AS so_far FROM runs"
        too_much = f"SELECT run_id FROM ({by_age}) WHERE so_far > ?"
        database.execute(f"DELETE FROM runs WHERE run_id IN ({too_much})", (self._max_bytes,))
        self._since_weighed = 0

    def _load(self, run_id: str) -> bytes | None:
        with self._database.reading() as database:
            row = database and database.execute("SELECT record FROM runs WHERE run_id = ?", (run_id,)).fetchone()
        return zlib.decompress(row[0]) if row else None

    def _recent(self, seconds: float, most: int) -> list[bytes]:
        newest = "SELECT record FROM runs WHERE saved_at >= ? ORDER BY saved_at DESC, rowid DESC LIMIT ?"
        with self._database.reading() as database:
            rows = database.execute(newest, (self._clock() - seconds, most)).fetchall() if database else []
        return [zlib.decompress(record) for (record,) in reversed(rows)]

    def _count(self) -> int:
        with self._database.reading() as database:
            return int(database.execute("SELECT count(*) FROM runs").fetchone()[0]) if database else 0


_commands = typer.Typer(help="The finished runs and learners' answers that the app keeps.", add_completion=False)


@_commands.command()
def where() -> None:
    """Say where runs and answers are kept, and how many."""
    store = RunStore()
    typer.echo(f"{store.path}: {store.count()} runs, {AttemptStore().count()} answers")


@_commands.command()
def delete() -> None:
    """Delete all runs and answers that are kept."""
    answers = AttemptStore().delete_all()
    typer.echo(f"Deleted {RunStore().delete()} runs and {answers} answers.")


if __name__ == "__main__":
    _commands()
