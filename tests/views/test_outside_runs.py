"""Outside runs in the app: kept when they end, stopped when asked, forgotten when deleted, never too many."""

from __future__ import annotations

import pytest

from engine.account import any_record
from engine.account.record import End, Sampling
from engine.outside.server import OutsideError, outside_server
from engine.serve.server import build
from tests.engine.serve.conftest import serving, until
from tests.engine.serve.scripted import ScriptedEngine, words
from views.engine_link import EngineLink
from views.outside_runs import MAX_AT_ONCE, OutsideRuns
from views.store import RunStore


@pytest.fixture
def outside(tmp_path):
    """Runs at a server that makes a token every 20 ms, and the link that keeps them."""
    link = EngineLink("http://127.0.0.1:9", store=RunStore(tmp_path))
    with serving(build(lambda: ScriptedEngine(0.02), token="k")) as url:
        runs = OutsideRuns(outside_server(url, "story", "k"), link)
        until(lambda: not isinstance(_tried(runs, link), str), "the engine")
        yield runs, link
        runs.close()


def _tried(runs: OutsideRuns, link: EngineLink) -> object:
    run = finished(runs, link, runs.start("once", Sampling(max_new_tokens=1)))
    return run if isinstance(run.end, End) else "not yet"


def finished(runs: OutsideRuns, link: EngineLink, run_id: str):
    until(lambda: not runs.is_asking(run_id), "the end")
    return any_record.loads(link.store.load(run_id))


def test_a_run_is_seen_while_it_goes_on_and_kept_when_it_has_ended(outside):
    runs, link = outside
    run_id = runs.start("once upon", Sampling(max_new_tokens=20))
    until(lambda: (run := runs.run(run_id)) and run.chunks, "the first chunk")
    assert runs.run(run_id).end is None
    run = finished(runs, link, run_id)
    assert run.text == "".join(words("once upon", 20)) and run.counted.new_tokens == 20
    assert runs.run(run_id) is None and run.header.run_id == run_id


def test_one_that_is_stopped_keeps_what_came_and_one_that_is_deleted_keeps_nothing(outside):
    runs, link = outside
    stopped, deleted = (runs.start("once", Sampling(max_new_tokens=2000)) for _ in range(2))
    until(lambda: runs.run(stopped) and runs.run(deleted), "both")
    link.delete([deleted])
    runs.stop([stopped, deleted, "unknown"])
    run = finished(runs, link, stopped)
    assert run.end.reason == "cancelled"
    until(lambda: not runs.is_asking(deleted), "the end")
    assert link.store.load(deleted) is None


def test_beyond_a_few_at_once_it_says_so(outside):
    runs, _link = outside
    started = [runs.start("once", Sampling(max_new_tokens=2000)) for _ in range(MAX_AT_ONCE)]
    with pytest.raises(OutsideError, match="Try again in a moment"):
        runs.start("once", Sampling())
    runs.stop(started)
    until(lambda: not any(runs.is_asking(one) for one in started), "the end")
    assert runs.start("once", Sampling(max_new_tokens=1))
