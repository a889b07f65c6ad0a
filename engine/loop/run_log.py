"""The log of one run while it is written: the engine's thread appends, any number of readers follow.

A reader never makes the engine wait. The engine's thread only appends to a list and, if someone follows, rings a bell;
one thread beside it (`Bell`) calls the followers, at most once every few milliseconds, so a slow follower delays other
followers and never a step.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Protocol, cast

import msgspec

from engine.account.record import End, Error, Event, Run

PAUSE_S = 0.004
"""Shortest time between two rounds of calls: readers see news at once, yet a decode step of 1 ms is not interrupted
each time.
"""

_log = logging.getLogger(__name__)


class Note(Protocol):
    """What the engine noted of something that happened; the event is written from it later."""

    def event(self) -> Event:
        """The event that it stands for."""


class Bell:
    """One thread that calls the followers of every log that has news."""

    def __init__(self) -> None:
        self._news: set[RunLog] = set()
        self._lock = threading.Lock()
        self._rung = threading.Event()
        self._thread: threading.Thread | None = None
        self._closed = False

    def ring(self, log: RunLog) -> None:
        """Say that `log` has news; returns at once."""
        with self._lock:
            self._news.add(log)
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._call_followers, name="engine-bell", daemon=True)
                self._thread.start()
        self._rung.set()

    def close(self) -> None:
        """Deliver what is left and end the thread."""
        self._closed = True
        self._rung.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(timeout=5)

    def _call_followers(self) -> None:
        while True:
            self._rung.wait()
            self._rung.clear()
            with self._lock:
                news, self._news = self._news, set()
            for log in news:
                log.call_followers()
            if self._closed and not self._news:
                return
            time.sleep(PAUSE_S)


class RunLog:
    """Append-only events of one run.

    It may be read from any thread at any time: event n is final once it is there. `subscribe` is for followers that
    want to be told of news instead of looking. The engine may append a note instead of an event; whoever reads first
    writes it out, and no more than `max_notes` are left waiting.
    """

    def __init__(self, run_id: str, bell: Bell, cancel: Callable[[], object], max_notes: int = 256) -> None:
        self.run_id = run_id
        self._events: list[Event | Note] = []
        self._n_written = 0
        self._writing = threading.Lock()
        self._max_notes = max_notes
        self._followers: list[Callable[[RunLog], None]] = []
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._bell = bell
        self._cancel = cancel

    def __len__(self) -> int:
        return len(self._events)

    def since(self, index: int) -> list[Event]:
        """The events from number `index` on that are there by now."""
        return self._written()[max(index, 0) :]

    @property
    def run(self) -> Run:
        """The record as far as it goes (a copy of the list; the events themselves are immutable)."""
        return Run(self._written())

    @property
    def ended(self) -> bool:
        """True once the last event (`End` or `Error`) is in the log."""
        return self._ended.is_set()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Block the calling thread until the run has ended; False if `timeout_s` passed first."""
        return self._ended.wait(timeout_s)

    def cancel(self) -> None:
        """Ask the engine to stop this run; it does so within one step. Does nothing to a run that has ended."""
        self._cancel()

    def subscribe(self, callback: Callable[[RunLog], None]) -> None:
        """Have `callback(log)` called, on the bell's thread, whenever there may be news; the first time at once.

        Calls are merged: compare `len(log)` with what you hold. Keep it short (an asyncio follower does
        `loop.call_soon_threadsafe(event.set)`). A callback that raises is dropped and its error logged.
        """
        with self._lock:
            self._followers.append(callback)
        self._bell.ring(self)

    def unsubscribe(self, callback: Callable[[RunLog], None]) -> None:
        """Stop the calls; unknown callbacks are ignored."""
        with self._lock:
            if callback in self._followers:
                self._followers.remove(callback)

    def append(self, event: Event | Note) -> None:
        """For the engine only: add the next event."""
        self._events.append(event)
        ended = isinstance(event, End | Error)
        if ended:
            self._ended.set()
        if self._followers or ended or self._n_notes > self._max_notes // 2:
            # What nobody reads is written out by the bell's thread.
            self._bell.ring(self)
        if self._n_notes > self._max_notes:
            self._write_oldest()

    def call_followers(self) -> None:
        """For the bell only."""
        if self.ended:
            self._written()
        else:
            # No more than that: a run that nobody reads must not be in the way of the others for long.
            with self._writing:
                self._write(len(self._events) - self._max_notes // 2)
        with self._lock:
            followers = list(self._followers)
        for callback in followers:
            try:
                callback(self)
            except Exception:
                _log.exception("a follower of run %s failed and is dropped", self.run_id)
                self.unsubscribe(callback)

    @property
    def _n_notes(self) -> int:
        """At most so many entries are not written out."""
        return len(self._events) - self._n_written

    def _written(self) -> list[Event]:
        """All events so far, notes written out."""
        with self._writing:
            n = len(self._events)
            self._write(n)
            return cast(list[Event], self._events[:n])

    def _write_oldest(self) -> None:
        """One note, so that they get no more and no step waits for hundreds; none while another thread writes."""
        if self._writing.acquire(blocking=False):
            try:
                self._write(self._n_written + 1)
            finally:
                self._writing.release()

    def _write(self, end: int) -> None:
        """Write out what stands before number `end`."""
        for place in range(self._n_written, end):
            entry = self._events[place]
            if not isinstance(entry, msgspec.Struct):
                self._events[place] = entry.event()
            self._n_written = place + 1
