"""The way of a run into a browser: whole, in order, across cuts, crashes and crowds."""

from __future__ import annotations

import json
import os
import signal
import threading
import time

import httpx
import pytest
from websockets.exceptions import InvalidStatus

from engine.account.record import End, Error, Sampling
from engine.serve.client import EngineUnavailable
from tests.app.conftest import linked, messages, relaying, watch, whole_log
from tests.engine.serve.conftest import PATIENCE_S, until
from tests.engine.serve.scripted import words
from views.engine_link import EngineLink
from views.relay import MESSAGES_PER_S, is_own_page
from views.store import RunStore


def kill_engine(link: EngineLink) -> None:
    os.kill(link._supervisor.pid, signal.SIGKILL)


def indices(events: list[dict]) -> list[int]:
    return [event["index"] for event in events]


def test_a_run_reaches_the_browser_whole_and_is_told_to_be_over(link, at):
    run_id = link.submit("once", Sampling(max_new_tokens=100))
    events, last = whole_log(at, run_id)
    assert indices(events) == list(range(103))
    assert [events[0]["event"], events[1]["event"], events[-1]["event"]] == ["header", "queued", "end"]
    assert last == {"end": True, "n": 103}


@pytest.mark.parametrize("start", [0, 1, 7, 8, 9])
def test_a_browser_gets_exactly_what_it_lacks(link, at, start):
    run_id = link.submit("a", Sampling(max_new_tokens=5))
    whole_log(at, run_id)
    events, last = whole_log(at, run_id, start)
    assert indices(events) == list(range(start, 8))
    assert last == {"end": True, "n": 8}


def test_a_browser_that_is_cut_off_again_and_again_misses_nothing_and_gets_nothing_twice(slow_link, slow_at, caplog):
    run_id = slow_link.submit("a", Sampling(max_new_tokens=60))
    held: list[dict] = []
    ended = False
    while not ended:
        with watch(slow_at, run_id, len(held)) as socket:
            for n, message in enumerate(messages(socket)):
                ended = "end" in message
                held += message.get("events", [])
                if n == 2:
                    break
    assert indices(held) == list(range(63))
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


def test_events_come_while_the_run_goes_on_and_at_most_thirty_messages_a_second(slow_link, slow_at):
    run_id = slow_link.submit("a", Sampling(max_new_tokens=2000))
    with watch(slow_at, run_id) as socket:
        stream = messages(socket)
        next(stream)
        begun, n = time.monotonic(), 0
        while time.monotonic() - begun < 1.0:
            assert next(stream)["events"]
            n += 1
    assert slow_link.run(run_id).end is None
    assert 2 <= n <= MESSAGES_PER_S + 2
    slow_link.cancel(run_id)


def test_thirty_viewers_of_one_run_all_get_it_and_the_engine_is_read_once(tmp_path, monkeypatch):
    def view() -> None:
        logs.append(indices(whole_log(at, run_id)[0]))

    def counted(link, run_id: str, start: int):
        readings.append(start)
        return read(link, run_id, start)

    logs: list[list[int]] = []
    readings: list[int] = []
    read = EngineLink.lines
    monkeypatch.setattr(EngineLink, "lines", counted)
    with linked(tmp_path, 20) as link, relaying(link) as at:
        run_id = link.submit("a", Sampling(max_new_tokens=100))
        viewers = [threading.Thread(target=view) for _ in range(30)]
        for viewer in viewers:
            viewer.start()
        for viewer in viewers:
            viewer.join(PATIENCE_S)
    assert logs == [list(range(103))] * 30
    assert readings == [0]


def test_two_runs_side_by_side_do_not_mix(link, at):
    ids = {name: link.submit(name, Sampling(max_new_tokens=20)) for name in ("one", "two")}
    for name, run_id in ids.items():
        whole_log(at, run_id)
        assert link.run(run_id).text == "".join(words(name, 20))


@pytest.mark.parametrize("run_id", ["0123456789abcdef0123456789abcdef", "nope", "x" * 65, "%2e%2e", "a%2fb", "%00"])
def test_an_unknown_run_is_said_and_not_a_broken_page(at, run_id):
    if run_id == "a%2fb":
        with pytest.raises(InvalidStatus):
            whole_log(at, run_id)
        return
    events, last = whole_log(at, run_id)
    assert events == [] and last["error"]["code"] == "unknown_run" and last["error"]["message"]


@pytest.mark.parametrize("start", ["-1", "x", "1.5", "", "9" * 12])
def test_a_start_that_is_no_number_is_said(link, at, start):
    run_id = link.submit("a", Sampling(max_new_tokens=1))
    assert whole_log_of_text(at, run_id, start) == {
        "error": {"code": "bad_start", "message": "from must be a whole number, 0 or more."}
    }


def whole_log_of_text(at: str, run_id: str, start: str) -> dict:
    with watch(at, run_id, start) as socket:  # type: ignore[arg-type]
        return json.loads(socket.recv(PATIENCE_S))


class TestOrigin:
    def test_a_page_of_another_site_is_turned_away(self, link, at):
        run_id = link.submit("a", Sampling(max_new_tokens=1))
        for origin in ("https://evil.example", "http://127.0.0.1:1", "null", "http://127.0.0.1.evil.example"):
            with pytest.raises(InvalidStatus) as no, watch(at, run_id, origin=origin):
                pass
            assert no.value.response.status_code == 403

    def test_a_page_of_this_server_is_let_in(self, link, at):
        run_id = link.submit("a", Sampling(max_new_tokens=1))
        with watch(at, run_id, origin=f"http://{at}") as socket:
            assert json.loads(socket.recv(PATIENCE_S))["from"] == 0

    def test_behind_a_proxy_the_operator_names_the_outer_address(self):
        assert not is_own_page("https://class.example", "127.0.0.1:8501")
        assert is_own_page("https://class.example", "127.0.0.1:8501", ["https://class.example/"])


class TestCrash:
    def test_an_engine_killed_in_mid_run_ends_the_log_with_a_word_to_the_person_and_the_next_run_works(
        self, own_link, own_at
    ):
        run_id = own_link.submit("a", Sampling(max_new_tokens=2000))
        events: list[dict] = []
        with watch(own_at, run_id) as socket:
            for message in messages(socket):
                events += message.get("events", [])
                if len(events) > 5 and own_link.generation == 1:
                    kill_engine(own_link)
        assert indices(events) == list(range(len(events)))
        assert events[-1]["event"] == "error" and events[-1]["code"] == "engine_lost"
        assert "started again" in events[-1]["message"]
        lost = own_link.run(run_id)
        assert isinstance(lost.end, Error) and lost.header.prompt == "a" and len(lost.passes) == len(events) - 3

        after = own_link.submit("b", Sampling(max_new_tokens=3))
        assert whole_log(own_at, after)[1] == {"end": True, "n": 6}
        assert own_link.generation == 2

    def test_what_the_app_has_seen_outlives_the_engine(self, own_link, own_at):
        run_id = own_link.submit("kept", Sampling(max_new_tokens=5))
        before = whole_log(own_at, run_id)
        kill_engine(own_link)
        assert whole_log(own_at, run_id) == before
        assert own_link.run(run_id).text == "".join(words("kept", 5))

    def test_a_run_that_was_lost_before_anybody_saw_it_is_said_to_be_unknown(self, own_link, own_at):
        run_id = own_link.submit("a", Sampling(max_new_tokens=2000))
        kill_engine(own_link)
        events, last = whole_log(own_at, run_id)
        assert events == [] and last["error"]["code"] == "unknown_run"

    def test_a_run_link_works_after_a_restart_of_the_app(self, tmp_path):
        with linked(tmp_path) as link, relaying(link) as at:
            run_id = link.submit("kept", Sampling(max_new_tokens=5))
            before = whole_log(at, run_id)
            until(lambda: link.store.load(run_id), "the keeping")
        with linked(tmp_path) as link, relaying(link) as at:
            assert whole_log(at, run_id) == before
            assert link.run(run_id).text == "".join(words("kept", 5))


class TestLink:
    def test_a_run_that_nobody_watched_can_be_read_and_is_kept(self, link):
        run_id = link.submit("a b", Sampling(max_new_tokens=3))
        until(lambda: link.run(run_id).end)
        assert link.store.load(run_id)

    def test_a_run_in_its_middle_is_read_as_far_as_it_goes(self, slow_link):
        run_id = slow_link.submit("a", Sampling(max_new_tokens=2000))
        until(lambda: slow_link.run(run_id).passes)
        assert slow_link.run(run_id).end is None and not slow_link.store.load(run_id)
        slow_link.cancel(run_id)
        until(lambda: slow_link.run(run_id).end)
        assert slow_link.run(run_id).end.reason == "cancelled"

    def test_an_unknown_run_is_none(self, link):
        assert link.run("0123456789abcdef0123456789abcdef") is None
        assert link.run("../health") is None
        link.cancel("0123456789abcdef0123456789abcdef")

    def test_a_first_run_waits_for_an_engine_that_is_still_starting(self, own_link):
        kill_engine(own_link)
        run_id = own_link.submit("a", Sampling(max_new_tokens=2))
        until(lambda: own_link.run(run_id).end)
        assert isinstance(own_link.run(run_id).end, End)

    def test_health_says_starting_while_no_engine_answers(self, own_link, own_at):
        own_link.close()
        assert own_link.health().status == "starting" and own_link.health().message
        assert httpx.get(f"http://{own_at}/twospeeds/health", trust_env=False).json()["status"] == "starting"
        with pytest.raises(EngineUnavailable):
            own_link.submit("a", patience_s=0)

    def test_an_engine_elsewhere_is_used_and_not_started(self, link, tmp_path):
        elsewhere = EngineLink(link.client.base_url, store=RunStore(tmp_path / "other"))
        elsewhere.start()
        assert not elsewhere.supervised and elsewhere.health().status == "ready"
        run_id = elsewhere.submit("a", Sampling(max_new_tokens=2))
        until(lambda: elsewhere.run(run_id).end)
        elsewhere.close()
        assert link.health().status == "ready"


def test_the_app_tells_the_engine_s_health(at):
    told = httpx.get(f"http://{at}/twospeeds/health", trust_env=False)
    assert told.json() == {"status": "ready", "message": None}


def test_every_route_moves_below_a_base_path(link):
    with relaying(link, "/class/one") as at:
        run_id = link.submit("a", Sampling(max_new_tokens=2))
        assert whole_log(at, run_id)[1] == {"end": True, "n": 5}
        assert httpx.get(f"http://{at}/twospeeds/health", trust_env=False).status_code == 200
        bare = at.removesuffix("/class/one")
        assert httpx.get(f"http://{bare}/twospeeds/health", trust_env=False).status_code == 404
