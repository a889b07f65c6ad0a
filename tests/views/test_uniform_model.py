"""Figures and instruments for a model that has a KV cache and no state."""

from __future__ import annotations

import msgspec
import pytest
from streamlit.testing.v1 import AppTest

from engine.account import cost
from engine.account.record import Run
from lessons.run_values import values_of
from tests.lessons.story_run import story_run
from views.figure_memory import memory_figure


@pytest.fixture
def run() -> Run:
    """The story run as SmolLM2 would have left it."""
    run, shape = story_run(), cost.PRESET_SHAPES["SmolLM2-135M"]
    header = msgspec.structs.replace(run.header, model=shape)
    nothing = {"state_bytes_read": 0, "state_bytes_written": 0, "state_bytes_held": 0, "window_bytes_held": 0}
    passes = [
        msgspec.structs.replace(one, kv_bytes_held=cost.kv_bytes(shape, one.positions_held), **nothing)
        for one in run.passes
    ]
    return Run([header, run.events[1], *passes, run.events[-1]])


def test_the_memory_figure_draws_the_cache_alone(run: Run):
    drawn = memory_figure(run, "light")
    assert not {trace.name for trace in drawn.figure.data} & {"state", "crossover"}
    assert drawn.figure.layout.yaxis.range[1] > 0
    assert "as large as" not in drawn.description
    assert set(drawn.table["state (bytes)"]) == {0}


def test_a_lesson_has_no_crossover_to_tell_of(run: Run):
    values = values_of(run)
    assert values["model.crossover"] is None
    assert (values["model.linear_layers"], values["model.state_bytes"]) == (0, 0)


def test_the_instruments_say_why_they_show_nothing(run: Run):
    def page(run) -> None:  # its source is run elsewhere, without this file's imports
        from engine.account.record import Sampling
        from views.inside import _trace
        from views.page_state import PageState
        from views.scene import Scene

        _trace(Scene(PageState("lab", Sampling()), "none", run, run_id="0" * 32))

    shown = AppTest.from_function(page, args=(run,)).run(timeout=30)
    assert not shown.exception
    assert [box.value for box in shown.info] == [
        "Every layer of this model is full attention: it has no recurrent state to look into."
    ]
    assert not shown.button
