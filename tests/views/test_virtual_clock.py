"""What-ifs: played once, kept by their settings, stopped when asked, and refused in plain words."""

import time

import pytest
from streamlit.testing.v1 import AppTest

from engine.loop.arrivals import Arrival
from engine.loop.counted_room import DoesNotFit
from engine.loop.policy import Policy
from tests.views.test_instrument_roofline import HERE
from views import virtual_machines
from views.virtual_clock import KEPT, Job, Setup, Stopped, Worker, play
from views.virtual_machines import NotKnown, clock_of, machine_keys, memory_of, what_if_shape


def setup(n: int = 3, new: int = 5, **settings) -> Setup:
    return Setup(
        **{"shape": "qwen4b", "machine": "h100", "policy": Policy(), "arrivals": (Arrival(0, 20, new),) * n, **settings}
    )


@pytest.fixture
def worker():
    one = Worker()
    yield one
    one.close()


def test_the_same_settings_are_played_once(worker):
    first, again = worker.job(setup()), worker.job(setup())
    assert first is again and first.future.result(10) is again.future.result(10)
    assert worker.job(setup(new=6)) is not first


def test_a_job_tells_how_far_it_is():
    job = Job(setup())
    assert job.share == 0
    job.play()
    assert job.share == 1 and job.n_tokens == 3 * 5


def test_a_simulation_under_way_can_be_stopped_and_begun_anew(worker):
    long = setup(n=64, new=4000)
    job = worker.job(long)
    while not job.n_tokens:
        time.sleep(0.01)
    worker.stop(long)
    with pytest.raises(Stopped):
        job.future.result(10)
    assert 0 < job.share < 1
    worker.forget(long)
    again = worker.job(long)
    assert again is not job and not again.stopping.is_set()
    worker.stop(long)


def test_what_was_used_longest_ago_goes_first(worker):
    jobs = [worker.job(setup(n=1, new=1 + number)) for number in range(KEPT)]
    assert [job.future.result(20) for job in jobs]
    jobs.append(worker.job(setup(n=1, new=KEPT + 1)))
    assert worker.job(setup(n=1, new=KEPT + 1)) is jobs[-1]
    assert worker.job(setup(n=1, new=1)) is not jobs[0]


def test_a_model_that_is_too_large_is_refused_in_words(worker):
    with pytest.raises(DoesNotFit, match="does not fit"):
        worker.job(setup(shape="qwen27b", machine="rtx4090")).future.result(10)


def test_two_machines_hand_over_once_for_each_request():
    found = play(setup(link="NVLink 4"))
    assert len(found.transfers) == 3 and found.decode_rows


def test_this_machine_can_be_chosen_once_it_was_measured(monkeypatch):
    monkeypatch.setattr(virtual_machines, "here", lambda: None)
    assert "machine" not in machine_keys()
    with pytest.raises(NotKnown, match="engine probe"):
        clock_of(what_if_shape("qwen4b"), "machine")
    monkeypatch.setattr(virtual_machines, "here", lambda: HERE)
    monkeypatch.setattr(virtual_machines.calibrate, "load", lambda model, threads: None)
    shape = what_if_shape("qwen4b")
    assert machine_keys()[0] == "machine" and clock_of(shape, "machine").name == HERE.name
    assert memory_of(shape, "machine") <= HERE.memory_bytes


def _page():
    import streamlit as st

    from engine.loop.policy import Policy
    from tests.views.test_virtual_clock import setup
    from views.virtual_clock import simulated

    # One after another, so that it takes longer than any page, however quick the machine.
    if (found := simulated([setup(n=160, new=1500, policy=Policy(max_running=1))], "long")) is not None:
        st.write(f"ended with {len(found[0].runs)}")


def test_what_takes_longer_shows_how_far_it_is_and_can_be_stopped_and_begun_again():
    page = AppTest.from_function(_page, default_timeout=60).run()
    assert not page.exception
    (stop,) = page.button
    assert stop.label == "Stop" and "Simulating" in page.get("progress")[0].proto.text
    page = stop.click().run()
    until = time.monotonic() + 20
    while not page.info and time.monotonic() < until:
        page = page.run()
    assert page.info[0].value == "Stopped before its end."
    page = page.button[0].click().run()
    assert page.button[0].label == "Stop", "it is under way again"
    page.button[0].click().run()
