"""The inline code of our components, called in every order in which Streamlit's browser side calls it, by Node."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from views.shim import shim

pytestmark = pytest.mark.skipif(
    shutil.which("node") is None, reason="needs Node; the browser tests cover the same code"
)

MODULE = """
export const update = (component) => log.push(`show ${component.data}`);
export const destroy = () => log.push("destroy");
"""
TALK = """
globalThis.location = { origin: "file:///" };
globalThis.log = [];
const { default: call } = await import("./shim.mjs");
const place = {};
const called = (data) => call({ data, parentElement: place });
const moment = () => new Promise((done) => setTimeout(done, 50));
%s
await moment();
console.log(JSON.stringify(log));
"""


@pytest.fixture
def told(tmp_path: Path, monkeypatch):
    """What the component's module hears of a few calls."""
    module = tmp_path / "module.mjs"
    module.write_text(MODULE)
    monkeypatch.setattr("views.shim.asset_url", lambda _path: str(module))
    (tmp_path / "shim.mjs").write_text(shim("module.mjs", ".fb"))

    def talk(calls: str) -> list[str]:
        (tmp_path / "talk.mjs").write_text(TALK % calls)
        done = subprocess.run(
            ["node", "talk.mjs"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stderr[-2000:]
        return json.loads(done.stdout)

    return talk


def test_settings_follow_each_other_in_one_picture_which_goes_with_the_page(told):
    heard = told('called("one"); await moment(); const leave = called("two"); await moment(); leave();')
    assert heard == ["show one", "show two", "destroy"]


@pytest.mark.parametrize("arrived", ["", "await moment();"], ids=["before the module", "after it"])
def test_a_call_for_old_settings_that_comes_last_does_not_take_the_picture_away(told, arrived):
    # Who pressed "Run it" while the page was still loading never saw the run: the new settings were shown, then the
    # call for the old ones came, was taken back, and the picture went with it.
    assert told(f'called("new"); {arrived} called("old")();') == ["show new"]


def test_a_call_that_is_taken_back_before_the_next_shows_nothing(told):
    assert told('called("old")(); called("new");') == ["show new"]


def test_a_page_that_is_left_while_its_picture_is_on_its_way_opens_none(told):
    assert told('called("one")();') == []
