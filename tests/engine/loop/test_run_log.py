"""The log: appended by one thread, followed by many, and never a brake on the writer."""

import threading
import time

import pytest

from engine.account.record import End
from engine.loop.run_log import Bell, RunLog
from tests.engine.builders import header, one_pass


@pytest.fixture
def bell():
    bell = Bell()
    yield bell
    bell.close()


def write(log, n_passes):
    log.append(header())
    for number in range(n_passes):
        log.append(one_pass(len(log), number, number, number + 1))
    log.append(End(len(log), "length", n_passes))


def test_a_follower_that_counts_sees_every_event_once_and_in_order(bell):
    log, seen, ended = RunLog("r", bell, lambda: None), [], threading.Event()

    def follow(log):
        seen.extend(log.since(len(seen)))
        if isinstance(seen[-1:] and seen[-1], End):
            ended.set()

    log.subscribe(follow)
    threading.Thread(target=write, args=(log, 500)).start()
    assert ended.wait(10)
    assert [event.index for event in seen] == list(range(502))
    assert log.run.events == seen


def test_a_late_follower_is_called_at_once_and_can_read_from_anywhere(bell):
    log, called = RunLog("r", bell, lambda: None), threading.Event()
    write(log, 3)
    log.subscribe(lambda log: called.set())
    assert called.wait(5)
    assert [event.index for event in log.since(3)] == [3, 4]
    assert log.since(99) == []
    assert log.ended
    assert log.wait(0)


def test_a_follower_that_hangs_does_not_hold_up_the_writer(bell):
    log, release = RunLog("r", bell, lambda: None), threading.Event()
    log.subscribe(lambda log: release.wait(10))
    started = time.perf_counter()
    write(log, 2_000)
    took = time.perf_counter() - started
    release.set()
    assert took < 5
    assert log.ended


def test_a_follower_that_raises_is_dropped_and_the_others_go_on(bell, caplog):
    log, calls, heard = RunLog("r", bell, lambda: None), [], threading.Event()

    def broken(log):
        calls.append(1)
        raise RuntimeError("follower")

    log.subscribe(broken)
    log.subscribe(lambda log: log.ended and heard.set())
    write(log, 1)
    assert heard.wait(5)
    assert calls == [1]
    assert "a follower of run r failed" in caplog.text


def test_calls_stop_after_unsubscribing(bell):
    log, calls = RunLog("r", bell, lambda: None), []

    def follow(log):
        calls.append(len(log))

    log.subscribe(follow)
    log.unsubscribe(follow)
    log.unsubscribe(follow)
    write(log, 1)
    bell.close()
    assert all(count == 0 for count in calls)


def test_news_from_just_before_closing_are_still_delivered(bell):
    log, lengths = RunLog("r", bell, lambda: None), []
    log.subscribe(lambda log: lengths.append(len(log)))
    write(log, 3)
    bell.close()
    assert lengths[-1] == 5


class _Note:
    def __init__(self, index, written):
        self.index, self.written = index, written

    def event(self):
        self.written.append(self.index)
        return one_pass(self.index, self.index - 1, 0, 1)


def test_a_note_is_written_out_once_by_whoever_reads_first(bell):
    log, written = RunLog("r", bell, lambda: None), []
    log.append(header())
    for _ in range(3):
        log.append(_Note(len(log), written))
    assert len(log) == 4
    assert written == []
    assert [event.index for event in log.since(2)] == [2, 3]
    assert [event.index for event in log.run.events] == [0, 1, 2, 3]
    assert written == [1, 2, 3]


def test_notes_do_not_pile_up_when_nobody_reads(bell):
    log, written = RunLog("r", bell, lambda: None, max_notes=10), []
    log.append(header())
    for _ in range(25):
        log.append(_Note(len(log), written))
    deadline = time.monotonic() + 10
    while len(written) < 15 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert 15 <= len(written) <= 25


def test_a_run_that_nobody_reads_never_makes_its_step_write_more_than_one_note(monkeypatch):
    """Every 256 tokens the engine's thread wrote 256 notes at once. Eight such runs had begun together, and a step of
    theirs took 150 ms instead of 5.
    """
    bell, written = Bell(), []
    monkeypatch.setattr(bell, "ring", lambda log: None)
    log = RunLog("r", bell, lambda: None, max_notes=10)
    log.append(header())
    for _ in range(50):
        before = len(written)
        log.append(_Note(len(log), written))
        assert len(written) - before <= 1
    assert len(written) == 50 - 10
    log.call_followers()
    assert len(written) == 50 - 10 // 2
    bell.close()


def test_a_run_that_ended_is_written_out_though_nobody_reads_it(bell):
    log, written = RunLog("r", bell, lambda: None), []
    log.append(header())
    log.append(_Note(1, written))
    log.append(End(2, "length", 1))
    bell.close()
    assert written == [1]


def test_many_readers_at_once_get_the_same_events(bell):
    log, written, seen = RunLog("r", bell, lambda: None), [], []
    log.append(header())
    for _ in range(200):
        log.append(_Note(len(log), written))
    threads = [threading.Thread(target=lambda: seen.append(log.since(0))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert written == list(range(1, 201))
    assert all(events == seen[0] for events in seen)


def test_cancelling_asks_the_engine(bell):
    asked = []
    RunLog("r", bell, lambda: asked.append("r")).cancel()
    assert asked == ["r"]
