"""A disk that fills up in the middle of saving, and a clock that is set: what was kept stays, and the app goes on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime

import pytest

from engine.serve.launch import ROOT
from tests.app.test_store import DAY, Clock
from views.attempt_store import Attempt, AttemptStore
from views.store import RunStore

_IN_LITTLE_ROOM = """
import json, os, resource, sys
from datetime import UTC, datetime
from views.attempt_store import Attempt, AttemptStore
from views.store import RunStore

runs, answers = RunStore(), AttemptStore()
runs.save("before", b"kept")
answers.save("browser", Attempt("lesson", "question", 1, True, datetime.now(UTC)))
room = max(path.stat().st_size for path in runs.path.parent.iterdir()) + 20_000
resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))
told = {"large": runs.save("large", os.urandom(2_000_000)), "before": runs.load("before") == b"kept"}
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
told |= {"after": runs.save("after", b"kept, too"), "answers": len(answers.load("browser"))}
print(json.dumps(told))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="the limit on a file's size is POSIX")
def test_a_file_that_may_not_grow_any_more_loses_one_run_and_nothing_else(tmp_path):
    """The operating system refuses the write itself, as a full disk does."""
    done = subprocess.run(
        [sys.executable, "-c", _IN_LITTLE_ROOM], cwd=ROOT, env=os.environ | {"TWOSPEEDS_HOME": str(tmp_path)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert json.loads(done.stdout) == {"large": False, "before": True, "after": True, "answers": 1}
    assert "goes on without" in done.stderr
    store = RunStore(tmp_path)
    assert (store.load("before"), store.load("large"), store.load("after")) == (b"kept", None, b"kept, too")


def test_a_clock_that_is_set_back_makes_no_new_run_look_old(tmp_path):
    clock = Clock()
    store = RunStore(tmp_path, max_bytes=25_000, clock=clock)
    for name in "ab":
        store.save(name, os.urandom(10_000))
    clock.now -= 10 * DAY
    store.save("c", os.urandom(10_000))
    assert [name for name in "abc" if store.load(name)] == ["b", "c"]
    clock.now += 10 * DAY
    store.save("d", os.urandom(10_000))
    assert [name for name in "abcd" if store.load(name)] == ["c", "d"]


def test_answers_survive_a_clock_that_is_set_back_and_then_right_again(tmp_path):
    clock = Clock()
    answers = AttemptStore(tmp_path, clock=clock)
    for jump in (0, -20, 20, 1):
        clock.now += jump * DAY
        assert answers.save("browser", Attempt("lesson", "question", jump, None, datetime.now(UTC)))
    assert [one.answer for one in answers.load("browser")] == [0, -20, 20, 1]
