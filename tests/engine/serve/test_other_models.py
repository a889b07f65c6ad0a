"""Models beside the server's own: asked for by name, loaded if they fit, never in the way of those that are here."""

from __future__ import annotations

import threading
import time

import pytest

from engine.loop.loading import N_CHECKPOINTS, N_FOR_TRACES, load_model, new_memory
from engine.loop.model_room import LEFT_OVER, NoRoom, check_room, needed_bytes
from engine.serve.faults import Refused
from engine.serve.host import KEPT_S, EngineHost, OtherModels
from tests.engine.serve.test_variants import _Idle


def test_a_model_that_came_while_the_server_ran_is_loaded_when_asked_for_and_leaves_again():
    here: list[str] = []
    host = EngineHost(lambda: _Idle("story"), _Idle, OtherModels(lambda: here, _Idle))
    host._bring_up()
    with pytest.raises(Refused, match="there is: story, story:int8, story:int4"):
        host.engine_for("smollm2")
    here.append("smollm2")
    assert host.names == ["story", "story:int8", "story:int4", "smollm2", "smollm2:int8", "smollm2:int4"]
    other = host.engine_for("smollm2")
    assert list(other.models) == ["smollm2"]
    assert host.engines == [host.engine, other]
    host.drop_unused(time.monotonic() + KEPT_S + 1)
    assert other.closed
    assert not host.engine.closed
    host.close()


def test_a_model_that_takes_long_to_load_does_not_hold_up_those_that_are_here():
    begun, go_on = threading.Event(), threading.Event()

    def load(name: str) -> _Idle:
        if name == "large":
            begun.set()
            assert go_on.wait(10)
        return _Idle(name)

    host = EngineHost(lambda: _Idle("story"), load, OtherModels(lambda: ["small", "large"], load))
    host._bring_up()
    small = host.engine_for("small")
    loading = threading.Thread(target=host.engine_for, args=("large",))
    loading.start()
    assert begun.wait(10)
    assert host.engine_for("small") is small
    host.drop_unused()
    go_on.set()
    loading.join(10)
    assert len(host.engines) == 3
    host.close()


def test_a_model_that_does_not_fit_is_refused_with_what_it_needs_and_what_is_free():
    needed = needed_bytes("story", n_running=2)
    model, _ = load_model("story")
    memory = new_memory(model, 2 + N_CHECKPOINTS + N_FOR_TRACES, 2)
    kept = (memory.pages.keys, memory.pages.values, memory.slots.states, memory.slots.windows)
    taken = model.shape.weight_bytes + sum(one.nbytes for one in kept)
    assert taken == pytest.approx(needed, rel=0.01)
    check_room("story", 2, free=needed + LEFT_OVER)
    with pytest.raises(NoRoom, match=r"story needs up to 0\.\d GB .* and 0\.\d GB of memory are free"):
        check_room("story", 2, free=needed)
    assert needed_bytes("story:int4", n_running=2) < needed - model.shape.weight_bytes / 2
