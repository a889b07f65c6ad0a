"""A visitor with a cookie: answers outlive the session, move to another browser by a code, and can be deleted."""

from __future__ import annotations

import pytest

from tests.pages.conftest import checked, opened, press, words
from views import own_work, visitor
from views.attempt_store import AttemptStore
from views.resume_code import Limit


@pytest.fixture(autouse=True)
def store(tmp_path, monkeypatch, engine) -> AttemptStore:
    kept = AttemptStore(tmp_path / "home")
    for place in (visitor, own_work):
        monkeypatch.setattr(place, "attempt_store", lambda: kept)
    monkeypatch.setattr("views.attempts.attempt_store", lambda: kept)
    monkeypatch.setattr(own_work, "engine_link", lambda: engine)
    monkeypatch.setattr(visitor, "TRIES_OF_ONE", Limit(3, 60))
    return kept


@pytest.fixture
def use(monkeypatch):
    """Choose the browser that the pages see."""

    def choose(name: str | None) -> None:
        for place in ("views.attempts", "views.own_work", "views.visitor"):
            monkeypatch.setattr(f"{place}.browser", lambda: name)

    choose("mine")
    return choose


def course_page():
    page = opened()
    page.switch_page("../pages/course.py")
    return checked(page.run())


def answer_the_check(answer: int):
    page = press(press(opened(), "Run it"), "Run without a guess")
    page.number_input[-1].set_value(answer)
    return press(page, "Check")


def code_on(page) -> str:
    (shown,) = [one.value for one in page.code if one.value.count("-") == 4]
    return shown


def test_nothing_is_kept_until_something_is_answered(use, store):
    page = course_page()
    assert "nothing is kept" in words(page) and not page.code and store.code("mine") is None


def test_another_session_finds_answers_and_runs_again(use, store, engine):
    answer_the_check(25)
    assert [(one.question, one.answer, one.right) for one in store.load("mine")] == [
        ("passes", None, None),
        ("decode-passes", 25, False),
    ]
    assert store.runs("mine") == list(engine.runs)
    page = opened()
    assert "What happened" in [one.value for one in page.header], "the guess counts as made"
    assert "“25”" in words(page) or "**25**" in words(page)
    assert "2 of 2 questions tried" in words(course_page())


def test_the_code_restores_the_work_in_another_browser(use, store):
    answer_the_check(24)
    code = code_on(course_page())
    use("laptop")
    page = course_page()
    assert "not tried yet" in words(page)
    page.text_input(key="resume-code").set_value(code.replace("-", " ").title())
    page = press(page, "Go on with it")
    assert "✓ done" in words(page) and code_on(page) == code


def test_a_slip_is_told_without_a_look_up_and_guessing_is_stopped(use):
    use("laptop")
    page = course_page()
    for typed, told in [("acorn acorn", "slip of the fingers"), *[("acorn-" * 5, "No work has this code")] * 3]:
        page.text_input(key="resume-code").set_value(typed)
        page = press(page, "Go on with it")
        assert told in page.error[0].value
    page.text_input(key="resume-code").set_value("acorn-" * 5)
    assert "too often" in press(page, "Go on with it").error[0].value


def test_deleting_takes_answers_and_runs_and_says_so(use, store, engine):
    answer_the_check(24)
    runs = store.runs("mine")
    page = press(course_page(), "Delete all of it")
    assert "have been deleted" in page.success[0].value and "not tried yet" in words(page)
    assert store.count() == 0 and store.runs("mine") == [] and engine.deleted == runs != []


def test_a_shared_machine_begins_anew(use, store):
    answer_the_check(24)
    page = press(course_page(), "Begin anew")
    assert "not tried yet" in words(page) and store.count() == 2


def test_a_browser_without_cookies_is_told_that_nothing_lasts(use):
    use(None)
    page = course_page()
    assert "keeps no cookie" in page.info[0].value and not page.code
