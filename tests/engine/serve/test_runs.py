"""The engine's own routes, over real HTTP: a run from its start to its end."""

from __future__ import annotations

import threading

import httpx
import pytest

from engine.account.record import End, Error, Header, Pass, Queued, Sampling
from engine.account.record_file import loads
from engine.serve.client import EngineClient, EngineRefused, EngineUnavailable
from tests.engine.serve.conftest import PATIENCE_S, engine_server, serving, until
from tests.engine.serve.scripted import SHAPE, ScriptedEngine, words


def test_a_run_streams_its_events_in_order_and_ends(client):
    run_id = client.submit("once upon a time", Sampling(max_new_tokens=5))
    events = list(client.events(run_id))
    assert [type(event) for event in events] == [Header, Queued, *[Pass] * 5, End]
    assert [event.index for event in events] == list(range(8))
    assert client.run(run_id).text == "".join(words("once upon a time", 5))


def test_run_ids_are_128_random_bits(client):
    ids = {client.submit("a", Sampling(max_new_tokens=1)) for _ in range(5)}
    assert len(ids) == 5
    assert all(len(run_id) == 32 and int(run_id, 16) >= 0 for run_id in ids)


@pytest.mark.parametrize("start", range(9))
def test_a_reader_gets_exactly_what_it_lacks(client, start):
    run_id = client.submit("a b", Sampling(max_new_tokens=5))
    whole = list(client.events(run_id))
    assert list(client.events(run_id, start)) == whole[start:]


def test_a_reader_that_comes_back_in_mid_run_misses_nothing_and_gets_nothing_twice(slow_client):
    run_id = slow_client.submit("a b", Sampling(max_new_tokens=30))
    held = []
    while not held or not isinstance(held[-1], End):
        for event in slow_client.events(run_id, len(held)):
            held.append(event)
            if len(held) % 7 == 0:
                break  # the connection is dropped here
    assert [event.index for event in held] == list(range(33))


def test_events_arrive_while_the_run_goes_on(slow_client):
    run_id = slow_client.submit("a b", Sampling(max_new_tokens=200))
    for event in slow_client.events(run_id):
        if isinstance(event, Pass):
            break
    assert slow_client.run(run_id).end is None
    slow_client.cancel(run_id)


def test_a_run_in_its_middle_can_be_read_as_far_as_it_goes(slow_client):
    run_id = slow_client.submit("a b", Sampling(max_new_tokens=200))
    until(lambda: len(slow_client.run(run_id).passes) >= 3)
    assert slow_client.run(run_id).header.prompt == "a b"
    slow_client.cancel(run_id)


def test_cancelling_ends_a_run_within_a_step(slow_client):
    run_id = slow_client.submit("a b", Sampling(max_new_tokens=2000))
    until(lambda: len(slow_client.run(run_id).passes) >= 3)
    slow_client.cancel(run_id)
    n_passes = len(slow_client.run(run_id).passes)
    last = list(slow_client.events(run_id))[-1]
    assert isinstance(last, End) and last.reason == "cancelled"
    assert len(slow_client.run(run_id).passes) - n_passes <= 1  # the one that was under way


def test_cancelling_a_run_that_waits_or_is_over_does_no_harm(slow_client):
    running = slow_client.submit("first", Sampling(max_new_tokens=2000))
    waiting = slow_client.submit("second", Sampling(max_new_tokens=2000))
    slow_client.cancel(waiting)
    slow_client.cancel(running)
    assert list(slow_client.events(waiting))[-1].reason == "cancelled"
    slow_client.cancel(waiting)
    assert slow_client.run(waiting).passes == []


def test_several_runs_at_once_each_get_their_own_tokens(url):
    def ask(prompt: str) -> None:
        with EngineClient(url) as own:
            run_id = own.submit(prompt, Sampling(max_new_tokens=20))
            list(own.events(run_id))
            texts[prompt] = own.run(run_id).text

    texts: dict[str, str] = {}
    askers = [threading.Thread(target=ask, args=(f"prompt{i}",)) for i in range(8)]
    for asker in askers:
        asker.start()
    for asker in askers:
        asker.join(PATIENCE_S)
    assert texts == {f"prompt{i}": "".join(words(f"prompt{i}", 20)) for i in range(8)}


def test_thirty_readers_of_one_run_all_get_the_whole_log(slow_url):
    def read() -> None:
        with EngineClient(slow_url) as own:
            logs.append([event.index for event in own.events(run_id)])

    logs: list[list[int]] = []
    with EngineClient(slow_url) as client:
        run_id = client.submit("a", Sampling(max_new_tokens=20))
        readers = [threading.Thread(target=read) for _ in range(30)]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join(PATIENCE_S)
    assert logs == [list(range(23))] * 30


def test_a_failed_run_ends_with_an_error_event_and_the_next_run_works(client):
    failed = client.submit("crash", Sampling(max_new_tokens=5))
    last = list(client.events(failed))[-1]
    assert isinstance(last, Error) and last.message == "The engine made a mistake."
    fine = client.submit("a", Sampling(max_new_tokens=2))
    assert isinstance(list(client.events(fine))[-1], End)


def test_a_saved_form_is_a_loadable_record(client, http):
    run_id = client.submit("a b c", Sampling(max_new_tokens=3))
    list(client.events(run_id))
    assert loads(http.get(f"/runs/{run_id}").content) == client.run(run_id)


def test_models_tells_the_shapes(client):
    assert client.models() == [SHAPE]


def test_the_batch_table_shows_who_runs_and_who_waits_without_run_ids(slow_client, slow_url):
    ids = [slow_client.submit("secret words", Sampling(max_new_tokens=500)) for _ in range(3)]
    assert [row.phase for row in slow_client.batch()] == ["decode", None, None]
    text = httpx.get(f"{slow_url}/batch", trust_env=False).text
    assert not any(run_id in text for run_id in ids) and "secret" not in text
    for run_id in ids:
        slow_client.cancel(run_id)


class TestViewers:
    def test_a_run_that_nobody_watches_is_cancelled(self):
        with engine_server(ScriptedEngine(0.02), patience_s=0.3) as url, EngineClient(url) as client:
            run_id = client.submit("a", Sampling(max_new_tokens=4000))
            until(lambda: client.run(run_id).end is not None, "the cancellation")
            assert client.run(run_id).end.reason == "cancelled"

    def test_a_watched_run_goes_on_and_is_cancelled_some_time_after_the_last_viewer_left(self):
        with engine_server(ScriptedEngine(0.02), patience_s=0.5) as url, EngineClient(url) as client:
            run_id = client.submit("a", Sampling(max_new_tokens=4000))
            seen = 0
            for event in client.events(run_id):
                seen += isinstance(event, Pass)
                if seen == 100:  # two seconds at the least: four times the patience
                    break
            assert seen == 100, "the run was cancelled under the eyes of its viewer"
            until(lambda: client.run(run_id).end is not None, "the cancellation")
            assert client.run(run_id).end.reason == "cancelled"

    def test_a_run_survives_a_viewer_that_leaves_and_comes_back_in_time(self):
        with engine_server(ScriptedEngine(0.02), patience_s=20) as url, EngineClient(url) as client:
            run_id = client.submit("a", Sampling(max_new_tokens=50))
            next(iter(client.events(run_id)))
            assert list(client.events(run_id, 1))[-1].reason == "length"


class TestToken:
    def test_without_the_token_nothing_is_told(self):
        with engine_server(ScriptedEngine(), token="let-me-in") as url:
            for wrong in (None, "", "let-me-i", "let-me-in-", "Let-Me-In", "lét-me-in"):
                with EngineClient(url, wrong) as client:
                    for ask in (client.health, client.models, client.batch, lambda: client.submit("a")):
                        with pytest.raises(EngineRefused) as no:
                            ask()
                        assert (no.value.status, no.value.code) == (401, "unauthorized")

    def test_with_the_token_everything_works(self):
        with engine_server(ScriptedEngine(), token="let-me-in") as url, EngineClient(url, "let-me-in") as client:
            run_id = client.submit("a", Sampling(max_new_tokens=2))
            assert isinstance(list(client.events(run_id))[-1], End)


def test_nobody_at_the_address_is_said_as_such():
    with EngineClient("http://127.0.0.1:9") as client, pytest.raises(EngineUnavailable, match=r"127\.0\.0\.1:9"):
        client.health()


def test_something_else_at_the_address_is_said_as_such():
    async def page(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"<html>router login</html>"})

    with serving(page) as url, EngineClient(url) as client:
        with pytest.raises(EngineUnavailable, match="not a Two Speeds engine"):
            client.models()
        with pytest.raises(ValueError):
            client.run("abc")
