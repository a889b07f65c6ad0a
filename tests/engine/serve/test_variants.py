"""The same model in fewer bits, beside itself: loaded when asked for, named with its bytes, gone when nobody asks."""

from __future__ import annotations

import time

import pytest

from engine import Engine, Request
from engine.account.record import Sampling, Serving
from engine.loop.request import RequestError
from engine.serve.client import EngineClient, EngineRefused
from engine.serve.faults import Refused
from engine.serve.host import KEPT_S, EngineHost
from engine.serve.server import build
from tests.engine.serve.conftest import serving, until

SHORT = Sampling(max_new_tokens=6, ignore_eos=True)


def load(name="story"):
    return Engine.load(name, threads=1)


@pytest.fixture(scope="module")
def client():
    with serving(build(load, load_variant=load)) as url, EngineClient(url) as one:
        until(lambda: one.health().status == "ready", seconds=60)
        yield one


def run(client, **settings):
    run_id = client.submit("Once upon a time", SHORT, **settings)
    list(client.events(run_id))
    return client.run(run_id)


def test_a_variant_is_loaded_by_the_first_run_that_asks_and_says_what_it_holds(client):
    assert [shape.name for shape in client.models()] == ["story"]
    plain, packed = run(client), run(client, model="story:int4")
    assert (plain.header.model.name, packed.header.model.name) == ("story", "story:int4")
    assert packed.header.model.weight_dtype.startswith("int4")
    assert packed.header.model.weight_bytes < 0.35 * plain.header.model.weight_bytes
    assert packed.passes[1].weight_bytes_read < 0.35 * plain.passes[1].weight_bytes_read
    assert [shape.name for shape in client.models()] == ["story", "story:int4"]


def test_the_weights_of_a_run_may_be_named_apart_from_the_model(client):
    packed = run(client, serving=Serving(weights="int8"))
    assert packed.header.model.name == "story:int8"
    assert packed.header.serving.weights == "int8"
    assert run(client, model="story:int8", serving=Serving(weights="bf16")).header.model.name == "story"


def test_an_engine_of_its_own_says_which_weights_it_has():
    with load("story:int8") as engine, pytest.raises(RequestError, match="as int8, not as int4"):
        engine.run(Request("x", serving=Serving(weights="int4")))


def test_a_variant_s_run_can_be_looked_into_too(client):
    packed = run(client, model="story:int8")
    layer = packed.header.model.layer_types.index("linear_attention")
    trace = client.trace(packed.header.run_id, layer, 0)
    assert trace.model == "story:int8"


def test_an_unknown_name_is_refused_with_those_that_there_are(client):
    with pytest.raises(EngineRefused, match="story, story:int8, story:int4"):
        client.submit("x", SHORT, model="story:int3")


class _Idle:
    """An engine that only says its name and whether it is closed."""

    def __init__(self, name):
        self.models, self.closed, self.rows = {name: None}, False, []

    def start(self):
        pass

    def batch_table(self):
        return self.rows

    def close(self):
        self.closed = True


def test_a_variant_that_nobody_asks_for_gives_its_memory_back_but_not_while_it_works():
    host = EngineHost(lambda: _Idle("m"), _Idle)
    host._bring_up()
    variant = host.engine_for("m:int4")
    assert host.engine_for("m:int4") is variant
    later = time.monotonic() + KEPT_S + 1
    variant.rows = ["somebody"]
    host.drop_unused(later)
    assert not variant.closed
    variant.rows = []
    host.drop_unused(later)
    assert variant.closed
    assert host.engines == [host.engine]
    host.close()


def test_a_variant_that_cannot_be_loaded_is_a_refusal_with_the_reason():
    def fail(_name):
        raise ValueError("the weights cannot be quantized: odd width")

    host = EngineHost(lambda: _Idle("m"), fail)
    host._bring_up()
    with pytest.raises(Refused, match="odd width"):
        host.engine_for("m:int8")
    assert host.engines == [host.engine]
    host.close()
