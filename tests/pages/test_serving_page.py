"""The page Serving and the instruments of sharing on their pages: live, simulated, and in trouble in plain words."""

import time

import pytest

from engine.account.record_file import dumps
from engine.loop.scheduler import BatchRow
from engine.serve.client import EngineRefused
from lessons import catalogue
from tests.lessons.story_run import story_run
from tests.pages.components import charts
from tests.pages.conftest import checked, opened, press, words
from tests.views.live_link import LiveLink
from views import engine_calls, live_batch, live_table, virtual_clock, virtual_machines
from views.store import RunStore

INSTRUMENTS = ("batch-table", "collision", "two-pools", "percentiles")


@pytest.fixture
def link(tmp_path, monkeypatch):
    one = LiveLink(RunStore(tmp_path / "home"))
    monkeypatch.setattr(engine_calls, "engine_link", lambda: one)
    monkeypatch.setattr(live_batch, "NEW_TOKENS", 30)
    yield one
    one.engine.close()


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """However busy the machine is, what is simulated here is waited for."""
    monkeypatch.setattr(virtual_clock, "GLANCE_S", 60.0)


def serving(link, **params):
    page = opened(**params)
    return checked(page.switch_page("../pages/serving.py").run())


def tables(page):
    return [table.value for table in page.dataframe]


def test_an_idle_engine_says_so_and_the_what_if_is_there(link):
    page = serving(link)
    assert "Nothing runs now." in words(page)
    assert "Decodes first" in words(page) or "Continuous" in words(page), "the policy in words"
    assert len(charts(page)) == 2, "waits and gaps of the what-if"


def test_requests_that_were_sent_here_are_run_marked_and_then_reported(link):
    page = press(serving(link), f"Send {live_batch.COPIES} requests")
    until = time.monotonic() + 30
    while not all(log.ended for log in link.logs.values()) and time.monotonic() < until:
        time.sleep(0.05)
    page.session_state["table-serving-steps"] = True
    page = checked(page.run())
    assert len(link.logs) == live_batch.COPIES
    steps = next(table for table in tables(page) if "decode: #request" in table.columns)
    assert len(steps) <= live_batch.N_STEPS
    for run_id, log in link.logs.items():
        link.store.save(run_id, dumps(log.run))
    page = press(page, "Look again")
    assert f"{live_batch.COPIES} runs that this app has read." in words(page)
    assert f"How they ended: {live_batch.COPIES} at the length asked for." in words(page)


def test_the_visitors_own_requests_are_marked_in_the_live_table():
    rows = [BatchRow("decode", 8, 3, 10, 11, None, 4), BatchRow(None, 8, 0, 10, 0, "1 before it", 5)]
    table = live_table.batch_columns(rows, own={5})
    assert table["request"] == ["#4", "▶ you #5"]
    assert table["waits because"] == ["", "1 before it"] and table["next step"] == ["decode", "waits"]


def test_a_refusal_stands_where_the_person_looks(link):
    link.refuses = EngineRefused("queue_full", "Too many wait already.", 503)
    page = serving(link)
    page = checked(next(one for one in page.button if one.label.startswith("Send")).click().run())
    assert link.logs == {} and [error.value for error in page.error] == ["Too many wait already."]


def test_a_run_of_the_store_that_cannot_be_read_is_left_out(link):
    link.store.save("good", dumps(story_run()))
    link.store.save("bad", b"{}")
    page = serving(link)
    assert "1 run that this app has read." in words(page)


def test_a_model_that_does_not_fit_is_said_and_the_rest_of_the_page_stands(link):
    page = serving(link)
    box = next(one for one in page.selectbox if one.label == "Machine")
    page = checked(box.select("rtx4090").run())
    assert any("does not fit" in error.value for error in page.error)
    page = checked(page.run())  # the answer alone was drawn
    assert "Nothing runs now." in words(page)


@pytest.mark.parametrize("name", INSTRUMENTS)
def test_each_instrument_stands_in_the_lab_with_its_table_and_its_link(link, name):
    page = opened()
    page.query_params["instrument"] = name
    page.switch_page("../pages/lab.py")
    page = checked(page.run())
    assert len(charts(page)) >= 3, "the Lab's own two, and the instrument's"
    assert not page.error and not page.warning


def test_a_link_to_a_machine_that_was_not_measured_shows_another_and_says_so(link, monkeypatch):
    monkeypatch.setattr(virtual_machines, "here", lambda: None)
    page = opened()
    page.query_params["instrument"] = "collision"
    page.query_params["machine"] = "machine"
    page.switch_page("../pages/lab.py")
    page = checked(page.run())
    assert any("not been measured" in warning.value for warning in page.warning)


@pytest.mark.parametrize(
    ("slug", "guesses", "said"),
    [
        ("sharing-a-read", "gain:8,who-gains:prefill,static:1", "Static took 4.13 s, continuous 2.71 s"),
        ("when-phases-collide", "stall:15,price:much", "The longest gap was 419 ms"),
        ("two-pools", "luggage:131,better:rate", "Now the second token comes 122 ms after the first"),
        ("measure-like-an-operator", "worst:0.5,part:prefill", "The mean was 503 ms."),
    ],
)
def test_each_lesson_opens_its_answers_with_every_number_known(link, monkeypatch, slug, guesses, said):
    (path,) = [file for file in catalogue.lesson_files() if slug in file.name]
    monkeypatch.setattr(catalogue, "lesson_files", lambda language=catalogue.DEFAULT_LANGUAGE: [path])
    page = opened(guess=guesses)
    assert said in words(page) and "(not known)" not in words(page)
    assert not page.error and not page.warning
