"""Playbacks: the engine's rows tell what the requests' own records tell, and a stretch can be cut out of them."""

import itertools

import msgspec
import pytest

from engine.account.metrics import timings
from engine.loop import engine as engine_module
from engine.loop.policy import Policy
from engine.loop.request import Request, SamplingParams
from lessons import playback
from lessons.playback import Measurement
from tests.engine.loop.doubles import mock_engine

POLICY = Policy(max_running=3, chunk=8)
TICK = 1_000


@pytest.fixture(autouse=True)
def ticking(monkeypatch):
    """A clock that goes on by a tick whenever the engine looks at it, however busy the machine is."""
    ticks = itertools.count(0, TICK)
    monkeypatch.setattr(engine_module, "clock", lambda: next(ticks))


def served(*requests: tuple[int, int]):
    """Runs and rows of an engine that got these (prompt, new) tokens at once, after a request of somebody else."""
    engine = mock_engine(policy=POLICY)
    engine.run(Request("other", SamplingParams(max_new_tokens=2)))
    logs = [engine.submit(Request("x" * n, SamplingParams(max_new_tokens=new))) for n, new in requests]
    while not all(log.ended for log in logs):
        engine.step()
    return [log.run for log in logs], engine.steps.since(0)


def test_rows_and_records_agree_on_every_wait_and_gap():
    runs, rows = served((5, 6), (20, 4), (7, 9), (3, 2))
    one = playback.of_engine("four", POLICY, runs, rows)
    assert min(one.arrivals.values()) == 0 and len(one.arrivals) == 4
    for run in runs:
        times, ticket = timings(run), run.header.ticket
        # A step ends a few looks at the clock after the passes in it.
        assert one.ttft_ns(ticket) == pytest.approx(times.ttft_ns, abs=4 * TICK)
        assert one.gaps_ns(ticket) == pytest.approx(list(times.itl_ns), abs=4 * TICK)
        assert one.prompts[ticket] == len(run.header.prompt_tokens)
    assert one.n_tokens == 6 + 4 + 9 + 2, "the other request's tokens are not counted"
    assert one.tokens_per_s == pytest.approx(21e9 / (one.end_ns - one.rows[0].start_ns))


def test_without_the_steps_there_is_no_playback():
    runs, rows = served((5, 6))
    assert playback.of_engine("gone", POLICY, runs, rows[-1:]) is not None
    assert playback.of_engine("gone", POLICY, runs, rows[:1]) is None


def test_a_stretch_begins_at_nothing_and_nobody_came_before_it():
    runs, rows = served((5, 6), (20, 4))
    one = playback.of_engine("two", POLICY, runs, rows)
    cut = one.between(one.rows[2].start_ns, one.rows[4].start_ns)
    assert [row.number for row in cut.rows] == [row.number for row in one.rows[2:5]]
    assert cut.rows[0].start_ns == 0 and set(cut.arrivals.values()) == {0}
    assert cut.end_ns == one.rows[4].end_ns - one.rows[2].start_ns


def test_a_measurement_comes_back_as_it_was_kept(tmp_path, monkeypatch):
    runs, rows = served((5, 6))
    kept = Measurement("2026-11-30", "tiny", "a machine", 1, "how", [playback.of_engine("one", POLICY, runs, rows)])
    playback.save("mine", kept, tmp_path)
    monkeypatch.setattr(playback, "MEASUREMENTS", tmp_path)
    assert playback.measurement("mine") == kept
    (tmp_path / "broken.json").write_text("{")
    with pytest.raises(msgspec.DecodeError):
        playback.measurement("broken")
    with pytest.raises(FileNotFoundError):
        playback.measurement("none")


@pytest.mark.parametrize("name", ["together", "collision"])
def test_the_measurements_of_the_lessons_say_how_they_were_made(name):
    taken = playback.measurement(name)
    assert taken.model == "story" and taken.threads >= 1 and taken.created.startswith("20")
    assert f"python -m benchmarks.sharing {name}" in taken.how
    for one in taken.playbacks:
        assert all(one.token_ns(ticket) for ticket in one.arrivals)
