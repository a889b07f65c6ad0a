"""A class on the pages: who may teach, how learners join, and what a vote does to a lesson, without a browser."""

from __future__ import annotations

import json

import pytest
from streamlit.runtime.context import ContextProxy
from streamlit.testing.v1 import AppTest

from engine.account.workload import read_workload, write_workload
from lessons import catalogue
from tests.pages.components import charts
from tests.pages.conftest import MAIN, checked, opened, press, words
from views import class_here, class_join, instructor, visitor
from views.class_record import record_class
from views.class_votes import PHASES, Key
from views.resume_code import Limit

LESSON = "one-request-two-phases"
KEY = (LESSON, "passes")


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch, engine):
    monkeypatch.setenv("TWOSPEEDS_HOME", str(tmp_path / "home"))
    monkeypatch.delenv(instructor.SECRET, raising=False)
    for kept in (visitor.attempt_store, class_here.class_store, instructor.instructor_store, class_here.glance):
        kept.clear()
    for place, name in ((instructor, "TRIES_OF_ONE"), (class_join, "TRIES_OF_ONE")):
        monkeypatch.setattr(place, name, Limit(3, 60))
    yield
    for kept in (visitor.attempt_store, class_here.class_store, instructor.instructor_store, class_here.glance):
        kept.clear()


@pytest.fixture
def use(monkeypatch):
    """Choose the browser that comes, and the name under which it reached the server."""

    def choose(browser: str, host: str = "localhost:8501", **headers: str) -> None:
        cookies = {visitor.COOKIE: browser.ljust(22, "x")}
        monkeypatch.setattr(ContextProxy, "cookies", property(lambda _self: cookies))
        monkeypatch.setattr(ContextProxy, "ip_address", None)
        monkeypatch.setattr(ContextProxy, "headers", property(lambda _self: {"Host": host, **headers}))

    choose("teacher")
    return choose


def classroom():
    page = AppTest.from_file(str(MAIN), default_timeout=30)
    page.switch_page("../pages/classroom.py")
    return checked(page.run())


def begun(lesson: str = LESSON) -> str:
    """Start a class about a lesson; its code."""
    one = class_here.class_store().start(None, lesson)
    assert one is not None
    return one.code


def seat():
    """The seat of the browser in use."""
    return class_here.class_store().seat_of(visitor.browser())


def teacher_goes_to(code: str, wanted: str, key: Key = KEY) -> None:
    votes, one = class_here.class_votes(), class_here.class_store().find(code)
    while (now := votes.glance(one.id, key).phase) != wanted:
        assert votes.advance(one, key, now, PHASES[PHASES.index(now) + 1])
    class_here.glance.clear()


@pytest.mark.parametrize(
    ("host", "headers", "may"),
    [
        ("localhost:8501", {}, True),
        ("127.0.0.1", {}, True),
        ("[::1]:8501", {}, True),
        ("school.example", {}, False),
        ("127.0.0.1.evil.example", {}, False),
        ("127.0.0.1:8501", {"X-Forwarded-For": "10.0.0.9"}, False),
        ("", {}, False),
    ],
)
def test_without_a_secret_only_a_page_on_the_machine_itself_may_teach(host, headers, may):
    assert instructor.at_this_machine({"Host": host, **headers}, None) is may
    assert not instructor.at_this_machine({"Host": "localhost", **headers}, "10.0.0.9")


def test_over_a_network_without_a_secret_the_page_says_what_to_do(use):
    use("someone", "school.example")
    page = classroom()
    assert instructor.SECRET in page.warning[0].value and not [b for b in page.button if b.label == "Start a class"]


def test_the_secret_opens_the_page_survives_a_reload_and_ends_with_another_secret(use, monkeypatch):
    secret = "correct horse battery"
    monkeypatch.setenv(instructor.SECRET, secret)
    assert not instructor.is_instructor(), "with a secret, being at the machine is not enough"
    assert [instructor.prove(typed, secret) for typed in ("", "correct horse batterz", "x")] == [
        "This is not the instructor secret of this server."
    ] * 3
    assert "too often" in (instructor.prove(secret, secret) or "")
    use("another", "school.example")
    page = classroom()
    page.text_input(key="classroom-typed").set_value(f" {secret} ")
    assert "Start a class" in [one.label for one in press(page, "I teach here").button]
    assert instructor.is_instructor(), "a reload"
    monkeypatch.setenv(instructor.SECRET, "another secret")
    assert not instructor.is_instructor()
    monkeypatch.setenv(instructor.SECRET, "short")
    assert "too short" in classroom().error[0].value


def test_a_teacher_starts_a_class_and_a_learner_is_told_in_words_why_a_code_does_not_open_it(use):
    page = press(classroom(), "Start a class")
    (one,) = class_here.class_store().of_teacher(visitor.browser())
    assert one.lesson == LESSON and f"{one.code[:3]} {one.code[3:]}" in [shown.value for shown in page.metric]
    use("phone")
    page = classroom()
    page.text_input(key="class-code").set_value("K7QM30")
    assert "six letters and digits" in press(page, "Join the class").error[0].value
    told = [class_join.join("MMMMMM") or "" for _ in range(4)]
    assert "No class has the code MMM MMM" in told[0] and "too often" in told[3]
    use("tablet")
    page = classroom()
    page.text_input(key="class-code").set_value(one.code.lower())
    page = press(page, "Join the class")
    assert "You sit in class" in words(page) and seat().name in words(page)
    class_here.class_store().end(one.id)
    assert "has ended" in (class_join.join(one.code) or "")


def test_a_vote_keeps_the_answer_shut_until_the_teacher_reveals_it_and_then_the_prompt_runs(use, engine):
    code = begun()
    use("phone")
    assert class_join.join(code) is None
    page = press(opened(), "Run it")
    assert not engine.asked, "the prompt waits for the class"
    page.number_input[-1].set_value(11)
    page = press(page, "Vote")
    assert "Your first vote: **11 passes**" in words(page) and "What happened" not in [one.value for one in page.header]
    teacher_goes_to(code, "talk")
    page.number_input[-1].set_value(12)
    assert "closed before yours came in" in press(page, "Change my vote").error[0].value
    teacher_goes_to(code, "second")
    page = press(opened(), "Keep my first vote")
    assert "Your second vote: **11 passes**" in words(page)
    teacher_goes_to(code, "revealed")
    page = opened()
    assert "What happened" in [one.value for one in page.header] and len(engine.asked) == 1
    assert "The prefill comes on top" in words(page), "the belief behind the vote is answered"


def test_a_class_votes_by_drawing_and_sees_its_lines_before_the_right_one(use, engine, monkeypatch):
    (path,) = [file for file in catalogue.lesson_files() if file.name.startswith("02-")]
    monkeypatch.setattr(catalogue, "lesson_files", lambda language=catalogue.DEFAULT_LANGUAGE: [path])
    lesson = "what-the-model-remembers"
    key = (lesson, "growth")
    code = begun(lesson)
    teacher_goes_to(code, "revealed", (lesson, "larger"))
    use("phone")
    assert class_join.join(code) is None
    page = press(opened(guess="larger:state"), "Vote")
    assert [one.value for one in page.error] == ["Draw a line first."]
    page.session_state["ballot-box-what-the-model-remembers-growth-1"] = {"points": list(range(0, 900, 100))}
    page = press(page, "Vote")
    assert figure(page, "Your first vote") == {"Your first vote": list(range(0, 900, 100))}
    teacher_goes_to(code, "second", key)
    page = opened(guess="larger:state")
    page.session_state["ballot-box-what-the-model-remembers-growth-2"] = {"points": [400] * 9}
    page = press(page, "Vote")
    assert set(figure(page, "Your second vote")) == {"Your first vote", "Your second vote"}
    teacher_goes_to(code, "done", key)
    use("teacher")
    stage = opened(present="1", **{"class": code}, slide="3")
    assert set(figure(stage, "one learner each")) == {
        "one learner each", "middle of the first vote", "middle of the second vote",
    }  # fmt: skip
    teacher_goes_to(code, "revealed", key)
    stage = opened(present="1", **{"class": code}, slide="4")
    assert figure(stage, "one learner each")["✓ By the formula"] == list(range(384, 1185, 100))
    assert "Right in the first vote: 0 of 1; in the second: 0 of 1." in words(stage)


def figure(page: AppTest, name: str) -> dict[str, list[float]]:
    """Name -> heights of the lines of the one figure that has a line of this name."""
    drawn = [json.loads(one["figure"])["data"] for one in charts(page)]
    (found,) = [traces for traces in drawn if name in [trace.get("name") for trace in traces]]
    return {trace["name"]: trace["y"] for trace in found}


def test_the_recording_of_a_class_holds_a_prompt_only_where_its_learner_agreed(use, engine):
    code = begun()
    store = class_here.class_store()
    one = store.find(code)
    for browser in ("shy", "open"):
        use(browser)
        assert class_join.join(code) is None
        store.share(seat(), answers=False, prompts=browser == "open")
        teacher_goes_to(code, "revealed")
        press(press(opened(), "Run it"), "Run without a guess")
    recorded = record_class(one, engine.runs.get)
    assert recorded.left_out == 0
    workload = read_workload(write_workload(recorded.workload))
    prompt = catalogue.lessons()[0].front.prompt
    assert [ask.prompt for ask in workload.requests] == [None, prompt]
    assert [ask.n_prompt for ask in workload.requests] == [8, 8] and [ask.n_new for ask in workload.requests] == [
        10,
        10,
    ]
    assert workload.requests[0].at_ns == 0 < workload.requests[1].at_ns
    assert {ask.who for ask in workload.requests} == {learner.name for learner in store.learners(one)}


def test_deleting_one_s_data_takes_the_seat_and_the_votes(use, monkeypatch):
    code = begun()
    use("phone")
    assert class_join.join(code) is None
    page = opened()
    page.number_input[-1].set_value(11)
    press(page, "Vote")
    monkeypatch.setattr("views.own_work.engine_link", lambda: type("Link", (), {"delete": lambda _self, _ids: None})())
    course = opened()
    course.switch_page("../pages/course.py")
    press(checked(course.run()), "Delete all of it")
    one = class_here.class_store().find(code)
    assert class_here.class_store().learners(one) == [] and not class_here.class_votes().tally(one.id, KEY).pairs
