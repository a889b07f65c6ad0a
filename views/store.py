"""The finished runs that the app keeps, so that a link to a run works after the engine has forgotten it.

One SQLite file in the user's data folder: records only (a record holds the prompt), nothing about who asked. Kept for
30 days and up to a size, whichever is less. A disk that is full or read-only costs the keeping and nothing else: it is
logged once.

    python -m views.store where     where the file is, and how many runs it holds
    python -m views.store delete    delete what is kept
"""

from __future__ import annotations

import logging
import os
import sqlite3
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import platformdirs
import typer

KEEP_DAYS = 30
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

_T = TypeVar("_T")

_log = logging.getLogger(__name__)


def home() -> Path:
    """The folder of what the app keeps: TWOSPEEDS_HOME, or the system's place for a user's data."""
    chosen = os.environ.get("TWOSPEEDS_HOME")
    return Path(chosen) if chosen else platformdirs.user_data_path("two-speeds", appauthor=False)


class RunStore:
    """Safe to use from any thread and from several processes. No method but `delete` raises."""

    def __init__(
        self, folder: Path | None = None, max_bytes: int = MAX_BYTES, clock: Callable[[], float] = time.time
    ) -> None:
        self.path = (folder or home()) / "runs.sqlite3"
        self._max_bytes = max_bytes
        self._clock = clock
        self._complained = False

    def save(self, run_id: str, record: bytes) -> bool:
        """Keep a run's saved form (`engine.account.record_file.dumps`); False if it could not be kept."""
        return self._attempt(lambda: self._save(run_id, record), otherwise=False)

    def load(self, run_id: str) -> bytes | None:
        """The saved form, or None if it is not kept."""
        return self._attempt(lambda: self._load(run_id), otherwise=None)

    def count(self) -> int:
        """How many runs are kept."""
        return self._attempt(self._count, otherwise=0)

    def delete(self, run_ids: Iterable[str] | None = None) -> int:
        """Delete these runs, or all; returns how many there were.

        Raises `sqlite3.Error` or `OSError`: whoever asked for it must know. What is deleted is overwritten in the
        file, not just unlinked.
        """
        if not self.path.exists():
            return 0
        with self._open() as database:
            database.execute("PRAGMA secure_delete = ON")
            if run_ids is None:
                gone = database.execute("DELETE FROM runs").rowcount
            else:
                gone = sum(
                    database.execute("DELETE FROM runs WHERE run_id = ?", (one,)).rowcount for one in set(run_ids)
                )
            database.commit()
            database.execute("VACUUM")
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return gone

    def _save(self, run_id: str, record: bytes) -> bool:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._open() as database, database:
            row = (run_id, self._clock(), zlib.compress(record))
            database.execute("INSERT OR REPLACE INTO runs VALUES (?, ?, ?)", row)
            self._drop_old(database)
        return True

    def _drop_old(self, database: sqlite3.Connection) -> None:
        database.execute("DELETE FROM runs WHERE saved_at < ?", (self._clock() - KEEP_DAYS * 86400,))
        by_age = "SELECT run_id, sum(length(record)) OVER (ORDER BY saved_at DESC, rowid DESC) AS so_far FROM runs"
        too_much = f"SELECT run_id FROM ({by_age}) WHERE so_far > ?"
        database.execute(f"DELETE FROM runs WHERE run_id IN ({too_much})", (self._max_bytes,))

    def _load(self, run_id: str) -> bytes | None:
        if not self.path.exists():
            return None
        with self._open() as database:
            row = database.execute("SELECT record FROM runs WHERE run_id = ?", (run_id,)).fetchone()
        return zlib.decompress(row[0]) if row else None

    def _count(self) -> int:
        if not self.path.exists():
            return 0
        with self._open() as database:
            return int(database.execute("SELECT count(*) FROM runs").fetchone()[0])

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        # A connection a call: threads and the delete command never share one, and opening it costs little.
        database = sqlite3.connect(self.path, timeout=5)
        try:
            database.execute("PRAGMA journal_mode = WAL")
            database.executescript(_SCHEMA)
            yield database
        finally:
            database.close()

    def _attempt(self, work: Callable[[], _T], otherwise: _T) -> _T:
        try:
            return work()
        except (sqlite3.Error, OSError, zlib.error) as error:
            if not self._complained:
                self._complained = True
                _log.warning("finished runs cannot be kept in %s (%s); the app goes on without", self.path, error)
            return otherwise


_commands = typer.Typer(help="The finished runs that the app keeps.", add_completion=False)


@_commands.command()
def where() -> None:
    """Say where the runs are kept, and how many."""
    store = RunStore()
    typer.echo(f"{store.path}: {store.count()} runs")


@_commands.command()
def delete() -> None:
    """Delete all runs that are kept."""
    typer.echo(f"Deleted {RunStore().delete()} runs.")


if __name__ == "__main__":
    _commands()
