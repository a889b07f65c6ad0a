"""What one visitor may ask of an engine that a whole class shares: how long a prompt, how many tokens, how many runs at
once and how many a minute.

The numbers come from the environment of whoever runs the server; README.md lists them. A visitor is a browser, by the
hash of its cookie; where cookies are refused, an open page.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import streamlit as st

from engine.account.record import Sampling
from views.prompt_checks import MAX_PROMPT_CHARACTERS
from views.visitor import browser
from views.words import _, ngettext

MINUTE_S = 60.0
MOST_VISITORS = 10_000
"""Books that are kept; the one that was opened longest ago goes first."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Limits:
    """For one visitor."""

    prompt_characters: int = MAX_PROMPT_CHARACTERS
    runs_at_once: int = 2
    runs_a_minute: int = 60
    tokens_a_minute: int = 20_000
    """New tokens asked for, whether or not a text ends early."""

    @classmethod
    def of_environment(cls, environment: Mapping[str, str] = os.environ) -> Limits:
        """What the environment says; a value that is no whole number from 1 on is left out, with a line in the log."""
        chosen: dict[str, int] = {}
        for name in cls.__dataclass_fields__:
            variable = f"TWOSPEEDS_{name.upper()}"
            text = environment.get(variable, "").strip()
            if text.isascii() and text.isdecimal() and int(text) > 0:
                chosen[name] = int(text)
            elif text:
                _log.warning("%s must be a whole number, 1 or more; it is %r and is left out", variable, text)
        return cls(**chosen)


@dataclass
class Book:
    """What one visitor has asked for lately."""

    clock: Callable[[], float] = time.monotonic
    asked: deque[tuple[float, int]] = field(default_factory=deque)
    """When, and how many new tokens."""
    live: list[str] = field(default_factory=list)
    """Ids of runs that went on when last looked at."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def hindrance(self, limits: Limits, prompt: str, new_tokens: int, n_runs: int, at_once: int,
                  goes_on: Callable[[str], bool]) -> str | None:  # fmt: skip
        """Why so many more runs of so many new tokens each cannot start now, in words for their owner; None if they
        can. `goes_on` is asked of the runs that went on when last looked at.
        """
        if len(prompt) > limits.prompt_characters:
            return _("The prompt has {n} characters; no more than {limit} can be sent here. Shorten it.").format(
                n=f"{len(prompt):,}", limit=f"{limits.prompt_characters:,}"
            )
        if new_tokens > limits.tokens_a_minute:
            return _("No more than {limit} new tokens can be asked for here.").format(
                limit=f"{limits.tokens_a_minute:,}"
            )
        if len(self.live) + n_runs > at_once:
            self.live = [run_id for run_id in self.live if goes_on(run_id)]
        if self.live and len(self.live) + n_runs > at_once:
            return ngettext(
                "{n} run of yours goes on already. Wait until it has ended, or stop it.",
                "{n} runs of yours go on already. Wait until one has ended, or stop it.",
                len(self.live),
            ).format(n=len(self.live))
        return self._too_fast(limits, new_tokens, n_runs)

    def note(self, new_tokens: int, run_id: str | None = None) -> None:
        """A run has been started."""
        with self._lock:
            self.asked.append((self.clock(), new_tokens))
        if run_id is not None:
            self.live.append(run_id)

    def forget(self, run_id: str) -> None:
        """This run has been stopped."""
        if run_id in self.live:
            self.live.remove(run_id)

    def _too_fast(self, limits: Limits, new_tokens: int, n_runs: int) -> str | None:
        now = self.clock()
        with self._lock:
            while self.asked and self.asked[0][0] <= now - MINUTE_S:
                self.asked.popleft()
            lately = list(self.asked)
        if not lately:
            return None
        soon = max(1, round(lately[0][0] + MINUTE_S - now))
        if len(lately) + n_runs > limits.runs_a_minute:
            return _("That is more than {n} runs in a minute. Try again in {s} seconds.").format(
                n=limits.runs_a_minute, s=soon
            )
        if sum(tokens for _when, tokens in lately) + new_tokens * n_runs > limits.tokens_a_minute:
            return _("That is more than {n} new tokens in a minute. Try again in {s} seconds.").format(
                n=f"{limits.tokens_a_minute:,}", s=soon
            )
        return None


@dataclass
class Books:
    """Visitor -> book."""

    limits: Limits = field(default_factory=Limits.of_environment)
    _books: dict[str, Book] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def of(self, visitor: str) -> Book:
        """The visitor's book, opened when first asked for."""
        with self._lock:
            while len(self._books) >= MOST_VISITORS and visitor not in self._books:
                del self._books[next(iter(self._books))]
            return self._books.setdefault(visitor, Book())


@st.cache_resource(show_spinner=False)
def books() -> Books:
    """The process's one set of books."""
    return Books()


def own_book() -> Book:
    """The book of whoever this page is drawn for."""
    name = browser()
    if name is None:
        book: Book = st.session_state.setdefault("run-limits", Book())
        return book
    return books().of(name)


def too_much(
    prompt: str, sampling: Sampling, goes_on: Callable[[str], bool], *, n_runs: int = 1, at_once: int | None = None
) -> str | None:
    """Why this visitor cannot start so many runs now; None if nothing is in the way.

    `at_once` is for copies that a page sends together: so many may go on, though typed runs may not.
    """
    limits = books().limits
    most = max(at_once or 0, limits.runs_at_once)
    return own_book().hindrance(limits, prompt, sampling.max_new_tokens, n_runs, most, goes_on)
