"""Who may teach: whoever knows the instructor's secret, or without one the person at the machine itself.

TWOSPEEDS_INSTRUCTOR_SECRET holds the secret. A browser that has given it is remembered for twelve hours by a keyed hash
of its own random name: the file holds no secret, and another secret ends what the old one allowed. Where no secret is
set, only a page opened on the server's own machine may teach; a page that came over a network, or through a proxy, is
refused with words that say what to do.
"""

from __future__ import annotations

import hmac
import ipaddress
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import streamlit as st

from views.database import Database
from views.resume_code import Limit
from views.visitor import browser
from views.words import _

SECRET = "TWOSPEEDS_INSTRUCTOR_SECRET"
SHORTEST = 8
"""Characters of a secret that is worth the name."""
HOLDS_S = 12 * 3600.0

TRIES_OF_ONE = Limit(5, 60)
TRIES_OF_ALL = Limit(60, 60)

_SCHEMA = """
CREATE TABLE IF NOT EXISTS instructors (
    browser TEXT PRIMARY KEY,       -- hash of the cookie
    proof   TEXT NOT NULL,          -- keyed hash of that hash; the key is the secret
    since   REAL NOT NULL           -- wall clock, seconds since 1970
) STRICT;
"""
_FORWARDED = ("X-Forwarded-For", "X-Real-Ip", "Forwarded", "X-Forwarded-Host", "Via")


class InstructorStore:
    """Which browsers have given the secret. Any thread, any process; only `forget` raises."""

    def __init__(self, folder: Path | None = None, clock: Callable[[], float] = time.time) -> None:
        self._database = Database(folder, _SCHEMA, "who may teach")
        self._clock = clock

    def remember(self, browser: str, secret: str) -> bool:
        """This browser has given the secret; False if that could not be kept."""
        return self._database.attempt(lambda: self._remember(browser, secret), otherwise=False)

    def knows(self, browser: str, secret: str) -> bool:
        """Whether this browser gave this very secret within the last hours."""
        return self._database.attempt(lambda: self._knows(browser, secret), otherwise=False)

    def forget(self, browser: str) -> None:
        """Let this browser be anybody's again; raises `sqlite3.Error` or `OSError`."""
        if self._database.path.exists():
            with self._database.writing() as database:
                database.execute("DELETE FROM instructors WHERE browser = ?", (browser,))

    def _remember(self, browser: str, secret: str) -> bool:
        with self._database.writing() as database:
            database.execute("DELETE FROM instructors WHERE since < ?", (self._clock() - HOLDS_S,))
            row = (browser, _proof(browser, secret), self._clock())
            database.execute("INSERT OR REPLACE INTO instructors VALUES (?, ?, ?)", row)
        return True

    def _knows(self, browser: str, secret: str) -> bool:
        query = "SELECT proof FROM instructors WHERE browser = ? AND since >= ?"
        with self._database.reading() as database:
            since = self._clock() - HOLDS_S
            row = database.execute(query, (browser, since)).fetchone() if database else None
        return row is not None and hmac.compare_digest(str(row[0]), _proof(browser, secret))


@st.cache_resource(show_spinner=False)
def instructor_store() -> InstructorStore:
    """The process's one store of them."""
    return InstructorStore()


def is_instructor() -> bool:
    """Whether whoever uses this page may teach: start a class, close a vote, reserve the engine."""
    secret = instructor_secret()
    if secret is None:
        return at_this_machine(st.context.headers, st.context.ip_address)
    if len(secret) < SHORTEST:
        return False
    if name := browser():
        return instructor_store().knows(name, secret)
    return bool(st.session_state.get("instructor") == _proof("", secret))


def instructor_secret() -> str | None:
    """The secret of whoever runs this server; None where none is set."""
    return os.environ.get(SECRET, "").strip() or None


def at_this_machine(headers: Mapping[str, str], remote: str | None) -> bool:
    """Whether a page was opened on the server's own machine: a loopback name in the address, a loopback peer (`remote`
    None), and no proxy between. The name is checked against pages of other sites that resolve to this machine.
    """
    return remote is None and _is_loopback(headers.get("Host", "")) and not any(one in headers for one in _FORWARDED)


def ask_for_secret(key: str = "instructor") -> None:
    """For a page that only a teacher may use: the form for the secret, or why there is none to give."""
    secret = instructor_secret()
    if secret is None:
        st.warning(_(
            "This page is for the teacher. This server is reached over a network and has no instructor secret, so "
            "nobody can teach from here. Whoever runs it sets {name} and starts it again."
        ).format(name=f"`{SECRET}`"))  # fmt: skip
        return
    if len(secret) < SHORTEST:
        too_short = _("The instructor secret of this server is too short: {name} must have {n} characters or more.")
        st.error(too_short.format(name=f"`{SECRET}`", n=SHORTEST))
        return
    with st.form(f"{key}-secret", border=True):
        typed = st.text_input(_("Instructor secret"), type="password", key=f"{key}-typed", max_chars=200)
        sent = st.form_submit_button(_("I teach here"), type="primary")
    if sent and (problem := prove(typed, secret)):
        st.error(problem)
    elif sent:
        st.rerun()


def prove(typed: str, secret: str) -> str | None:
    """Let this browser teach if the secret is right; what is to be said if not."""
    name = browser()
    if not (TRIES_OF_ONE.allows(name or "without a cookie") and TRIES_OF_ALL.allows("all")):
        return _("That was tried too often just now. Wait a minute.")
    if not hmac.compare_digest(typed.strip().encode(), secret.encode()):
        return _("This is not the instructor secret of this server.")
    if name is None:
        st.session_state["instructor"] = _proof("", secret)
    elif not instructor_store().remember(name, secret):
        return _("The secret is right, but this server cannot keep it: its disk may be full.")
    return None


def _is_loopback(host: str) -> bool:
    """Of a Host header: `localhost:8501`, `127.0.0.1`, `[::1]:8501`."""
    name = host.rpartition("]")[0].removeprefix("[") if host.startswith("[") else host.partition(":")[0]
    if name.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def _proof(browser: str, secret: str) -> str:
    return hmac.new(secret.encode(), browser.encode(), "sha256").hexdigest()
