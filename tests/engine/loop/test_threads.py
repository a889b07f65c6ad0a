"""Two threads alone, one beside a busy program."""

import subprocess
import sys
import time

import pytest

from engine.loop import threads
from engine.loop.request import Request
from tests.engine.loop.doubles import MockRunner, mock_engine

BUSY = "while True: pass"


@pytest.mark.parametrize(("cores", "busy", "expected"), [(2, 0.0, 2), (2, 0.2, 2), (2, 0.9, 1), (8, 5.0, 2), (1, 0, 1)])
def test_two_threads_want_two_free_cores(monkeypatch, cores, busy, expected):
    monkeypatch.setattr(threads.os, "cpu_count", lambda: cores)
    neighbours = threads.Neighbours(sample_s=60)
    neighbours._busy_cores = busy
    assert neighbours.threads() == expected
    neighbours.close()


def test_another_process_at_work_is_noticed_and_our_own_work_is_not():
    other = subprocess.Popen([sys.executable, "-c", BUSY])
    neighbours = threads.Neighbours(sample_s=0.05)
    try:
        deadline = time.monotonic() + 20
        while neighbours.busy_cores < 0.2 and time.monotonic() < deadline:
            time.sleep(0.05)
        assert neighbours.busy_cores >= 0.2
    finally:
        other.kill()
        other.wait()
        neighbours.close()


def test_the_number_is_chosen_while_the_engine_is_idle_and_holds_for_all_who_share_its_steps(monkeypatch):
    numbers = iter([2, 1, 2])
    monkeypatch.setattr(threads.Neighbours, "threads", lambda self: next(numbers))
    runner = MockRunner()
    engine = mock_engine(runner)
    engine.mind_neighbours()
    engine.submit(Request("first"))
    assert runner.threads == 2
    engine.submit(Request("joins while the first is live"))
    assert runner.threads == 2
    while engine.step():
        pass
    engine.submit(Request("alone again"))
    assert runner.threads == 1
    engine.close()
