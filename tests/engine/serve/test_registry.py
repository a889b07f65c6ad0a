"""Which runs the server keeps, and which it gives up, on a clock that the test turns by hand."""

from __future__ import annotations

from engine.account.record import End, Queued
from engine.loop.run_log import Bell, RunLog
from engine.serve.registry import RunRegistry


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def log_of(run_id: str, cancelled: list[str], n_events: int = 1) -> RunLog:
    log = RunLog(run_id, Bell(), lambda: cancelled.append(run_id))
    for index in range(n_events):
        log.append(Queued(index, 0, 0))
    return log


def end(log: RunLog) -> None:
    log.append(End(len(log), "length", 1))


def test_an_unwatched_run_is_cancelled_when_the_patience_is_over_and_not_before():
    clock, cancelled = Clock(), []
    runs = RunRegistry(patience_s=60, clock=clock)
    runs.add(log_of("a", cancelled), needs_viewers=True)
    clock.now = 60.0
    runs.sweep()
    assert cancelled == []
    clock.now = 60.1
    runs.sweep()
    assert cancelled == ["a"]


def test_the_patience_counts_from_when_the_last_viewer_left():
    clock, cancelled = Clock(), []
    runs = RunRegistry(patience_s=60, clock=clock)
    log = log_of("a", cancelled)
    runs.add(log, needs_viewers=True)
    with runs.watched(log):
        clock.now = 50.0
        with runs.watched(log):
            clock.now = 1000.0
            runs.sweep()
        runs.sweep()
    clock.now = 1060.0
    runs.sweep()
    assert cancelled == []
    clock.now = 1061.0
    runs.sweep()
    assert cancelled == ["a"]


def test_a_run_of_the_completions_route_needs_no_viewers():
    clock, cancelled = Clock(), []
    runs = RunRegistry(patience_s=60, clock=clock)
    runs.add(log_of("a", cancelled), needs_viewers=False)
    clock.now = 1e6
    runs.sweep()
    assert cancelled == []


def test_each_ended_run_is_reported_once_and_stays_to_be_read():
    ended: list[int] = []
    runs = RunRegistry(lambda run: ended.append(len(run.events)))
    log = log_of("a", [])
    runs.add(log, needs_viewers=True)
    end(log)
    for _ in range(3):
        runs.sweep()
    assert ended == [2] and runs.find("a") is log


def test_the_oldest_finished_runs_are_dropped_and_live_ones_never():
    runs = RunRegistry(keep_runs=2)
    logs = {name: log_of(name, []) for name in "abcde"}
    for log in logs.values():
        runs.add(log, needs_viewers=True)
    for name in "abcd":
        end(logs[name])
        runs.sweep()
    assert [name for name in "abcde" if runs.find(name)] == ["c", "d", "e"]


def test_long_finished_runs_are_dropped_sooner_and_the_last_one_never():
    runs = RunRegistry(keep_events=100)
    for name in "abc":
        log = log_of(name, [], n_events=45)
        runs.add(log, needs_viewers=True)
        end(log)
        runs.sweep()
    assert [name for name in "abc" if runs.find(name)] == ["b", "c"]
    giant = log_of("d", [], n_events=500)
    runs.add(giant, needs_viewers=True)
    end(giant)
    runs.sweep()
    assert runs.find("d") is giant


def test_watching_a_run_that_was_dropped_meanwhile_does_no_harm():
    runs = RunRegistry()
    with runs.watched(log_of("gone", [])):
        runs.sweep()
