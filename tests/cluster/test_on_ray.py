"""A cluster on Ray, on this machine: a prefill engine, two decode engines, and the address that stands for them.

One cluster for all of it, since Ray takes seconds to start; what can be tested without Ray is in test_relay.py.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import openai
import psutil
import pytest

from engine.account import cost
from engine.account.record import Continued, End, Pass, Sampling, Transferred
from engine.loop.engine import Engine
from engine.loop.request import Request
from engine.serve.client import EngineClient, EngineRefused
from tests.engine.same_words import assert_same_words

pytest.importorskip("ray", reason="pip install -r requirements-cluster.txt")

ROOT = Path(__file__).resolve().parents[2]
PROMPT = "Once upon a time, there was a"
TOKEN = "for-this-test"
COMMAND = [sys.executable, "-m", "engine", "cluster", "--port", "0", "--lifeline", "--token", TOKEN]


@pytest.fixture(scope="module")
def process() -> Iterator[subprocess.Popen]:
    options = ["--prefill", "1", "--decode", "2", "--cpus", "0.5"]
    running = subprocess.Popen([*COMMAND, *options], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    yield running
    running.stdin.close()
    assert running.wait(30) == 0


@pytest.fixture(scope="module")
def client(process) -> Iterator[EngineClient]:
    url = next(json.loads(line)["url"] for line in process.stdout if line.startswith(b"{"))
    with EngineClient(url, TOKEN) as asked:
        until(lambda: asked.health().status == "ready")
        yield asked


@pytest.fixture(scope="module")
def alone() -> Iterator[Engine]:
    with Engine.load("story", threads=1) as engine:
        yield engine


def until(condition, seconds: float = 120.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def tokens(run) -> list[int]:
    return [emission.token.id for emission in run.emissions]


def served(client: EngineClient, sampling: Sampling, prompt: str = PROMPT):
    run_id = client.submit(prompt, sampling)
    for _ in client.events(run_id):
        pass
    return client.run(run_id)


def kill(process: subprocess.Popen, name: str) -> None:
    """Kill the engine of that name, as a machine that fails would: Ray names its log after it."""
    (victim,) = [
        child
        for child in psutil.Process(process.pid).children(recursive=True)
        if any(name.replace("/", "_") in opened.path for opened in child.open_files())
    ]
    victim.kill()


def test_two_pools_write_what_one_engine_writes_and_the_record_has_the_bytes(client, alone):
    for sampling, prompt in [
        (Sampling(max_new_tokens=24, ignore_eos=True), PROMPT),
        (Sampling(temperature=1.0, top_p=0.9, seed=5, max_new_tokens=24, ignore_eos=True), PROMPT * 9),
    ]:
        run = served(client, sampling, prompt)
        expected = alone.run(Request(prompt, sampling))
        assert tokens(run) == tokens(expected)
        assert [one.candidates for one in run.emissions] == [one.candidates for one in expected.emissions]
        (moved,) = [event for event in run.events if isinstance(event, Transferred)]
        shape = run.header.model
        # On a machine that is busy Ray may lose an engine; then what is known by then moves, and not the prompt alone.
        known = [event.tokens for event in run.events[: moved.index] if isinstance(event, Continued)]
        n = len(run.header.prompt_tokens) + (known[-1] if known else 0)
        assert (moved.sender.split("/")[0], moved.receiver.split("/")[0]) == ("prefill", "decode")
        assert (moved.positions, moved.kv_bytes) == (n, cost.kv_bytes(shape, n))
        assert moved.state_bytes == cost.recurrent_state_bytes(shape)
        assert moved.window_bytes == cost.window_bytes(shape)
        before = [one for one in run.passes if one.index < moved.index][-1]
        after = next(one for one in run.passes if one.index > moved.index)
        assert before.end_ns == moved.start_ns < moved.at_ns - moved.fetch_ns < moved.at_ns < after.start_ns


def test_the_openai_client_streams_through_it(client, alone):
    with openai.OpenAI(base_url=f"{client.base_url}/v1", api_key=TOKEN) as asked:
        stream = asked.completions.create(model="story", prompt=PROMPT, max_tokens=200, temperature=0, stream=True)
        chunks = [chunk.choices[0].text for chunk in stream if chunk.choices]
    assert len(chunks) > 1, "of so many tokens not all come at once, on a fast machine either"
    assert "".join(chunks) == alone.run(Request(PROMPT, Sampling(max_new_tokens=200))).text


def test_the_apps_client_finds_everything_that_one_engine_has(client):
    assert [shape.name for shape in client.models()] == ["story"]
    until(lambda: client.health().message == "1 engine for prefill, 2 engines for decode.")
    run_id = client.submit(PROMPT, Sampling(max_new_tokens=1500, ignore_eos=True))
    events = client.events(run_id)
    header = next(events)
    while not isinstance(next(events), Pass):
        pass
    (row,) = client.batch()
    assert (row.ticket, row.prompt_tokens, row.phase) == (header.ticket, 8, "decode")
    client.cancel(run_id)
    *_, last = events
    assert isinstance(last, End) and last.reason == "cancelled"
    until(lambda: not client.batch())
    with pytest.raises(EngineRefused, match="at most 2,040 new tokens"):
        client.submit(PROMPT, Sampling(max_new_tokens=5000))
    until(lambda: {row.engine.split("/")[0] for row in client.steps().rows} == {"prefill", "decode"})
    run = served(client, Sampling(max_new_tokens=3))
    assert len(client.trace(run.header.run_id, 0, 0).tokens) == 8 + 2


def test_a_reservation_holds_on_every_engine_and_the_lanes_own_run_goes_through_both_pools(client, alone):
    reserved = client.reserve(60)
    sampling = Sampling(max_new_tokens=8, ignore_eos=True)
    held = client.submit(PROMPT, sampling)
    own = client.submit(PROMPT, sampling, lane=reserved.key)
    assert [type(event) for event in client.events(own)][-1] is End
    until(lambda: [(row.phase, row.positions_held) for row in client.batch()] == [(None, 0)])
    assert client.batch_table().reserved_until == reserved.until
    client.give_back(reserved.key)
    *_, last = client.events(held)
    assert isinstance(last, End)
    first, second = client.run(own), client.run(held)
    assert tokens(first) == tokens(second) == tokens(alone.run(Request(PROMPT, sampling)))
    assert len([event for event in first.events if isinstance(event, Transferred)]) == 1


def test_without_the_token_nobody_comes_in_and_nothing_listens_beyond_loopback(client, process):
    assert httpx.get(f"{client.base_url}/health").status_code == 401
    family = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
    listening = [one.laddr.ip for each in family for one in each.net_connections("inet") if one.status == "LISTEN"]
    assert {address.removeprefix("::ffff:") for address in listening} == {"127.0.0.1"}


def test_an_engine_killed_in_mid_run_is_replaced_and_no_token_is_lost(client, process, alone):
    sampling = Sampling(max_new_tokens=600, ignore_eos=True)
    run_id = client.submit(PROMPT, sampling)
    receivers = []
    for event in client.events(run_id):
        if isinstance(event, Transferred):
            receivers.append(event.receiver)
        if isinstance(event, Pass) and event.number == 20:
            kill(process, receivers[0])
    run = client.run(run_id)
    # Who goes on reads what is there in one pass, which with bf16 arithmetic rounds otherwise than token by token.
    assert_same_words(run, alone.run(Request(PROMPT, sampling)))
    (continued,) = [event for event in run.events if isinstance(event, Continued)]
    assert (continued.lost, len(receivers)) == (receivers[0], 2)
    assert receivers[1] != receivers[0]
    assert continued.tokens >= 20
    again = next(one for one in run.passes if one.start_ns > continued.at_ns)
    assert (again.phase, len(again.token_ids)) == ("prefill", 8 + continued.tokens)
    until(lambda: client.health().message == "1 engine for prefill, 2 engines for decode.")
