"""The privacy note says what the code does."""

from __future__ import annotations

import asyncio
import re
import sqlite3
from datetime import UTC, datetime

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.testclient import TestClient
from streamlit.testing.v1 import AppTest

from engine.serve.launch import ROOT
from tests.app.test_store import DAY, Clock
from views import class_store, instructor, keeping, language, privacy, store, visitor
from views.attempt_store import Attempt, AttemptStore
from views.database import KEEP_DAYS
from views.store import RunStore

SPOKEN_OF = {
    "attempts": "Your answers", "own_runs": "Your runs", "runs": "Your runs", "visitors": "code of five words",
    "browsers": "keeps only its hash", "seats": "made-up name", "votes": "your votes",
    "class_runs": "which runs you began", "classes": "In a class", "polls": "In a class",
    "instructors": instructor.SECRET,
}  # fmt: skip
"""Table -> where the note speaks of what is in it."""


@pytest.fixture(scope="module")
def note() -> str:
    return " ".join(one for _, told in privacy.note() for one in told)


def test_the_file_in_the_docs_is_the_note_of_the_page():
    written = (ROOT / "docs" / "privacy.md").read_text(encoding="utf-8")
    assert written == privacy.markdown(), "python -m views.privacy > docs/privacy.md"


def test_the_page_shows_the_whole_note_folded_away(monkeypatch):
    def script() -> None:
        from views.privacy import show_privacy

        show_privacy()

    monkeypatch.setenv("TWOSPEEDS_OUTSIDE_URL", "http://elsewhere.example:8000")
    page = AppTest.from_function(script).run()
    assert not page.exception
    (folded,) = page.expander
    shown = " ".join(one.value for one in folded.markdown)
    assert [one for _, told in privacy.note() for one in told if one not in shown] == []
    assert "`elsewhere.example:8000`" in shown


def test_every_table_that_is_kept_is_spoken_of(note, tmp_path):
    RunStore(tmp_path).save("a", b"x")
    AttemptStore(tmp_path).save("browser", Attempt("lesson", "question", 3, False, datetime.now(UTC)))
    class_store.ClassStore(tmp_path).start(None, "")
    instructor.InstructorStore(tmp_path).remember("browser", "a secret")
    with sqlite3.connect(tmp_path / "runs.sqlite3") as database:
        tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert tables == set(SPOKEN_OF)
    assert [words for words in SPOKEN_OF.values() if words not in note] == []


def test_its_numbers_and_names_are_the_code_s(note):
    assert set(map(int, re.findall(r"(\d+) days", note))) == {KEEP_DAYS}
    assert f"{store.MAX_BYTES // 1_000_000} MB" in note
    assert f"`{language.COOKIE}`" in note and "python -m views.store delete" in note
    client = TestClient(Starlette(middleware=[Middleware(visitor.VisitorCookie)]), base_url="https://here")
    told = client.get("/", headers={"accept": "text/html"}).headers["set-cookie"]
    name, rest = told.split("=", 1)
    assert f"`{name}`" in note and "HttpOnly" in rest and "Domain" not in rest
    assert f"Max-Age={KEEP_DAYS * DAY}" in rest


def test_what_is_too_old_goes_though_nobody_saves_anything_any_more(tmp_path, monkeypatch):
    clock = Clock()
    runs, answers = RunStore(tmp_path, clock=clock), AttemptStore(tmp_path, clock=clock)
    monkeypatch.setattr(keeping, "attempt_store", lambda: answers)
    monkeypatch.setattr(keeping, "EVERY_S", 0.01)
    runs.save("a", b"x")
    answers.save("browser", Attempt("lesson", "question", 3, False, datetime.now(UTC)))

    async def some_time_passes() -> None:
        dropping = asyncio.create_task(keeping.keep_dropping(runs))
        await asyncio.sleep(0.1)
        assert (runs.count(), answers.count()) == (1, 1)
        clock.now += KEEP_DAYS * DAY + 1
        for _ in range(500):
            await asyncio.sleep(0.02)
            if (runs.count(), answers.count()) == (0, 0):
                break
        dropping.cancel()

    asyncio.run(some_time_passes())
    assert (runs.count(), answers.count(), answers.load("browser")) == (0, 0, [])
