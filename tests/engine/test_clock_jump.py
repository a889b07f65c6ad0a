"""The wall clock is set while requests run: timings and patience are measured on a clock that nobody sets."""

from __future__ import annotations

import itertools
import time

import pytest

from engine import Request, SamplingParams
from engine.serve.registry import RunRegistry
from tests.engine.serve.scripted import ScriptedEngine


@pytest.fixture
def wild_clock(monkeypatch):
    """Every look at the wall clock finds it set by a day or more, forth and back."""
    jumps = itertools.cycle((1e9, 3e9, 0.0, 2e9, -1e9))
    monkeypatch.setattr(time, "time", lambda: next(jumps))
    monkeypatch.setattr(time, "time_ns", lambda: int(next(jumps) * 1e9))


def test_the_times_of_a_run_follow_one_another(small_engine, wild_clock):
    begun = time.monotonic_ns()
    run = small_engine.run(Request("The king saw", SamplingParams(max_new_tokens=6, ignore_eos=True)))
    took = time.monotonic_ns() - begun
    moments = [moment for one in run.passes for moment in (one.start_ns, one.end_ns)]
    assert len(run.passes) == 6
    assert moments == sorted(moments) and moments[0] >= 0 and moments[-1] <= run.end.at_ns <= took


def test_a_run_that_was_just_left_is_not_cancelled(wild_clock):
    engine = ScriptedEngine(0.01)
    engine.start()
    runs = RunRegistry()
    log = engine.submit(Request("a", SamplingParams(max_new_tokens=20)))
    runs.add(log, needs_viewers=True)
    while not log.ended:
        runs.sweep()
        time.sleep(0.01)
    assert log.run.end.reason == "length"
    engine.close()
