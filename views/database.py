"""One SQLite file in the user's data folder, opened anew for every call; what it holds, its users say.

A connection a call: threads, processes and the delete command never share one, and opening it costs little. A disk that
is full or read-only costs the keeping and nothing else: it is logged once.
"""

from __future__ import annotations

import logging
import sqlite3
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from engine.account.home import home

KEEP_DAYS = 30
WAIT_S = 5.0  # for another writer

_T = TypeVar("_T")

_log = logging.getLogger(__name__)


class Database:
    """The file with the tables of one schema; `holds` names in the log what cannot be kept when it fails."""

    def __init__(self, folder: Path | None, schema: str, holds: str) -> None:
        self.path = (folder or home()) / "runs.sqlite3"
        self._schema = schema
        self._holds = holds
        self._complained = False

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection | None]:
        """A connection for one read; None where nothing has been kept yet."""
        if not self.path.exists():
            yield None
            return
        with self._open() as database:
            yield database

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A connection whose changes are kept together, or not at all if the block raises."""
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._open() as database, database:
            yield database

    @contextmanager
    def deleting(self) -> Iterator[sqlite3.Connection]:
        """A connection for deleting: what goes is overwritten in the file, not just unlinked."""
        with self._open() as database:
            database.execute("PRAGMA secure_delete = ON")
            yield database
            database.commit()
            database.execute("VACUUM")
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def drop(self, table: str, old: str, before: float) -> int:
        """Delete the rows of a table whose column `old` is before this wall clock; looks first, since it rewrites all.

        Returns how many there were.
        """
        with self.reading() as database:
            found = (
                database and database.execute(f"SELECT 1 FROM {table} WHERE {old} < ? LIMIT 1", (before,)).fetchone()
            )
        if not found:
            return 0
        with self.deleting() as database:
            return database.execute(f"DELETE FROM {table} WHERE {old} < ?", (before,)).rowcount

    def attempt(self, work: Callable[[], _T], otherwise: _T) -> _T:
        """What the work gives; `otherwise`, and a line in the log the first time, if the file cannot be used."""
        try:
            return work()
        except (sqlite3.Error, OSError, zlib.error) as error:
            if not self._complained:
                self._complained = True
                _log.warning("%s cannot be kept in %s (%s); the app goes on without", self._holds, self.path, error)
            return otherwise

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        database = sqlite3.connect(self.path, timeout=WAIT_S)
        try:
            _log_ahead(database)
            database.execute("PRAGMA foreign_keys = ON")
            database.executescript(self._schema)
            yield database
        finally:
            database.close()


def _log_ahead(database: sqlite3.Connection) -> None:
    """Turn on the write-ahead log. In a new file several may try at once, and SQLite's own waiting leaves this out."""
    deadline = time.monotonic() + WAIT_S
    while True:
        try:
            database.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.005)
