"""The quiet lane over HTTP: one person's run alone, all others told why they wait, and an end that nobody forgets."""

import time

import pytest

from engine.account.record import Queued, Sampling
from engine.loop.policy import Policy
from engine.serve.client import EngineClient, EngineRefused
from tests.engine.loop.doubles import MockRunner, mock_engine
from tests.engine.serve.conftest import engine_server, until

TEN = Sampling(max_new_tokens=10, ignore_eos=True)


@pytest.fixture(scope="module")
def client():
    engine = mock_engine(MockRunner(lambda plan: time.sleep(0.002)), policy=Policy(max_running=8))
    with engine_server(engine) as url, EngineClient(url) as asking:
        yield asking


def ended(client, run_id):
    until(lambda: client.run(run_id).end is not None, "the run's end")
    return client.run(run_id)


def test_the_reserved_run_goes_alone_while_others_wait_and_know_until_when(client):
    before = client.submit("before", TEN)
    reserved = client.reserve(60)
    others = [client.submit(f"other {n}", TEN) for n in range(3)]
    own = client.submit("mine", TEN, lane=reserved.key)
    assert {one.shared_by for one in ended(client, own).passes} == {1}
    assert ended(client, before).end is not None
    table = client.batch_table()
    assert table.reserved_until == reserved.until and [row.place for row in table.rows] == [1, 2, 3]
    told = [event for event in client.run(others[0]).events if isinstance(event, Queued)]
    assert told[-1].reserved_until == reserved.until
    assert not client.run(others[0]).passes
    client.give_back(reserved.key)
    assert all(len(ended(client, run_id).passes) == 10 for run_id in others)
    assert client.batch_table().reserved_until is None


def test_it_ends_by_itself_and_its_key_with_it(client):
    reserved = client.reserve(1)
    with pytest.raises(EngineRefused) as twice:
        client.reserve(1)
    assert (twice.value.status, twice.value.code) == (409, "reserved")
    other = client.submit("other", TEN)
    assert ended(client, other).passes[0].start_ns > 0.5e9, "it waited"
    with pytest.raises(EngineRefused) as late:
        client.submit("mine", TEN, lane=reserved.key)
    assert late.value.code == "reservation_over"
    client.give_back(reserved.key)  # too late, and no harm


@pytest.mark.parametrize("seconds", [0, -1, 121, 1e300])
def test_nobody_reserves_for_longer_than_a_class_can_wait(client, seconds):
    with pytest.raises(EngineRefused) as no:
        client.reserve(seconds)
    assert no.value.status == 400
