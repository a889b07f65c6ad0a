"""Thirty on one engine, from one learner's page: full, too much, in the queue, among others, while it is reserved."""

import msgspec
import pytest

from engine.account.record import Queued, Run
from engine.loop.scheduler import BatchRow
from engine.serve.client import EngineRefused
from tests.lessons.story_run import story_run
from tests.pages.components import card_values, flipbooks
from tests.pages.conftest import checked, opened, press, words
from views import live_table, quiet_lane
from views.run_limits import Book, Limits
from views.store import RunStore

FULL = EngineRefused("queue_full", "128 requests are waiting already.", 429)


@pytest.fixture(autouse=True)
def fresh(engine, tmp_path):
    """No look at the table that another test has taken, and a place for finished runs."""
    live_table.look_anew()
    engine.store = RunStore(tmp_path / "home")


def lab(page=None, **params):
    page = page or opened(**params)
    return checked(page.switch_page("../pages/lab.py").run())


def shown_run(page):
    return flipbooks(page)[0]


def going_on(ahead=0, ticket=7):
    """A run whose end has not come, some requests behind others."""
    run = story_run()
    header = msgspec.structs.replace(run.header, ticket=ticket)
    return Run([header, Queued(1, 0, ahead, 1, 2_000_000_000, 12), *run.events[2:5]])


def test_when_the_engine_is_full_the_recording_is_in_view_and_the_same_prompt_goes_once_there_is_room(engine):
    page = press(lab(), "Run it")
    assert shown_run(page)["run_id"] is not None
    engine.refuses = FULL
    page.text_area[0].set_value("My own story")
    page = press(page, "Run it")
    (said,) = [warning.value for warning in page.warning]
    assert FULL.message in said and "recording is here" in said
    assert shown_run(page)["recording"] is not None and shown_run(page)["run_id"] is None
    assert page.text_area[0].value == "My own story"
    page = press(page, "Try again")
    assert len(page.warning) == 1, "still full"
    engine.refuses = None
    page = press(page, "Try again")
    assert not page.warning and engine.asked[-1][0] == "My own story"
    assert shown_run(page)["run_id"] == f"{2:032x}"


def test_a_lesson_does_the_same_and_its_answer_can_still_be_read(engine):
    engine.refuses = FULL
    page = opened()
    page = press(page, "Run it")
    page.number_input[0].set_value(10)
    page = press(page, "Guess and run")
    assert [button.label for button in page.button].count("Try again") == 1
    assert shown_run(page)["recording"] is not None and "You said" in card_values(page), "the recorded run answers"
    engine.refuses = None
    assert shown_run(press(page, "Try again"))["run_id"] is not None


def test_one_learner_has_two_runs_at_once_and_may_have_another_when_one_has_ended(engine):
    engine.next_run = going_on()
    page = lab()
    for _ in range(2):
        page = press(page, "Run it")
        page.query_params.clear()  # as in another tab: the page has no run to stop
        page.session_state["link.lab"] = msgspec.UNSET
        del page.session_state["link.lab"]
    page = press(page, "Run it")
    assert len(engine.asked) == 2
    assert "2 runs of yours go on already" in page.warning[0].value
    first = f"{1:032x}"
    engine.runs[first] = Run([engine.runs[first].header, *story_run().events[1:]])
    page = press(page, "Try again")
    assert len(engine.asked) == 3 and not page.warning


def test_a_minute_holds_so_many_runs_and_tokens_and_says_when_to_come_back():
    now = [0.0]
    book, limits = Book(lambda: now[0]), Limits(runs_at_once=9, runs_a_minute=3, tokens_a_minute=100)

    def no(tokens=10, n_runs=1):
        return book.hindrance(limits, "x", tokens, n_runs, 9, lambda run_id: True)

    assert "200,001" in (book.hindrance(limits, "x" * 200_001, 1, 1, 9, lambda run_id: True) or "")
    assert "100 new tokens" in (no(tokens=101) or "")
    for now[0] in (0.0, 10.0):
        assert no() is None
        book.note(45)
    assert no() is None and "100 new tokens in a minute. Try again in 50 seconds" in (no(tokens=11) or "")
    assert "more than 3 runs in a minute" in (no(tokens=1, n_runs=2) or "")
    now[0] = 60.5
    assert no(tokens=50) is None


def test_limits_come_from_the_environment_and_nonsense_there_changes_nothing(caplog):
    found = Limits.of_environment({"TWOSPEEDS_RUNS_AT_ONCE": "5", "TWOSPEEDS_RUNS_A_MINUTE": "many"})
    assert found == Limits(runs_at_once=5)
    assert "TWOSPEEDS_RUNS_A_MINUTE" in caplog.text


def test_near_a_run_that_goes_on_stands_its_own_row_among_the_others(engine):
    engine.next_run = going_on(ahead=2, ticket=7)
    engine.rows = [
        BatchRow("decode", 8, 3, 10, 11, None, 4),
        BatchRow(None, 8, 0, 10, 0, "1 before it", 7, 1, 2_500_000_000, 12),
    ]
    page = press(lab(), "Run it")
    (table,) = [one.value for one in page.dataframe if "request" in one.value.columns]
    assert list(table["request"]) == ["#4", "▶ you #7"]
    assert list(table["place in the queue"]) == ["", "1"] and table["expected wait"][1] == "2,500 ms"
    assert "1 request in the batch, 1 waits." in words(page) and "from the last 12 runs" in words(page)
    assert engine.asked[0][0] not in table.to_string()


def test_a_teacher_reserves_the_engine_and_what_is_sent_from_there_goes_in_the_lane(engine, monkeypatch):
    monkeypatch.setattr(quiet_lane, "is_instructor", lambda: True)
    page = checked(opened().switch_page("../pages/serving.py").run())
    page = press(page, "Reserve the engine")
    assert "The engine is yours until" in page.success[0].value
    page = press(lab(page), "Run it")
    assert engine.lanes == ["key"]
    page = press(checked(page.switch_page("../pages/serving.py").run()), "Give it back now")
    assert not page.success and engine.reserved_until is None
    press(lab(page), "Run it")
    assert engine.lanes == ["key", None]


def test_whoever_did_not_reserve_it_is_told_until_when_and_has_no_button(engine, monkeypatch):
    monkeypatch.setattr(quiet_lane, "is_instructor", lambda: False)
    engine.reserve(60)
    page = checked(opened().switch_page("../pages/serving.py").run())
    assert "The instructor has reserved the engine for a timing experiment until" in page.info[0].value
    assert not {"Reserve the engine", "Give it back now"} & {button.label for button in page.button}
