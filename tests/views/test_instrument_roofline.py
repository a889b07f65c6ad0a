"""The roofline on the page: blank without a measurement, with every pass as a dot, and measured on request."""

import subprocess

import msgspec
import pytest
from streamlit.testing.v1 import AppTest

from engine.account import probe
from engine.account.presets import HARDWARE, this_machine
from engine.account.probe import MachineProbe, Rate
from engine.account.roofline import median_dot, pass_dots
from lessons.instruments import INSTRUMENTS
from lessons.named_shapes import shape_of
from tests.lessons.story_run import story_run
from views import measure_machine
from views.figure_roofline import SYMBOLS, X_RANGE, rate
from views.instruments.roofline import preset_roofline, reached, results, run_roofline
from views.palette import COLOURS
from views.shape_choice import Choice

H100 = HARDWARE["H100 SXM"]


def probed(bandwidth: float = 20e9, peak: float = 200e9, created: str = "2026-11-30T00:00:00+00:00") -> MachineProbe:
    def steady(median: float) -> Rate:
        return Rate(median, 0.95 * median, 1.05 * median, 20)

    return MachineProbe(
        created, "Test CPU", 2, "2.13.0", {"L3": 32 << 20}, 16 << 30, 256 << 20,
        steady(bandwidth), steady(peak), steady(peak / 2),
    )  # fmt: skip


HERE = this_machine(probed())


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_dot_and_the_roof_lie_inside_the_axes_and_phases_differ_by_shape_and_colour(theme):
    figure = run_roofline(story_run(), HERE, theme, recorded=False).figure
    (x_low, x_high), (y_low, y_high) = figure.layout.xaxis.range, figure.layout.yaxis.range
    assert x_low == X_RANGE[0] and x_high > X_RANGE[1] and figure.layout.showlegend
    assert y_high > y_low + 1 and figure.layout.yaxis.ticktext[0].startswith(("1 ", "10 ", "100 "))
    for trace in figure.data:
        assert 10**x_low <= min(trace.x) and max(trace.x) <= 10**x_high
        assert 10**y_low <= min(trace.y) and max(trace.y) < 10**y_high, "the flat roof is seen, too"
    dots = {trace.name: trace for trace in figure.data if trace.name in SYMBOLS}
    assert {name: trace.marker.symbol for name, trace in dots.items()} == SYMBOLS
    assert {name: trace.marker.color for name, trace in dots.items()} == {
        name: COLOURS[theme][name] for name in SYMBOLS
    }
    assert len(dots["prefill"].x) + len(dots["decode"].x) == len(story_run().passes)


def test_without_a_measurement_there_are_dots_and_no_roof():
    drawn = run_roofline(story_run(), None, "light", recorded=True)
    assert {trace.name for trace in drawn.figure.data} == {"prefill", "decode"}
    assert set(drawn.table["share of the roof"]) == {None} and "not measured yet" in drawn.how
    assert drawn.evidence == "recorded"
    assert results(story_run(), None)["decode_share"] is None


def test_what_prose_may_say_is_what_the_instrument_is_said_to_publish():
    found = results(story_run(), HERE)
    assert set(found) == set(INSTRUMENTS["roofline"].publishes) == set(results(None, None))
    assert set(results(None, HERE).values()) == {None}
    decode = pass_dots(story_run())[1]
    assert found["decode_intensity"] == pytest.approx(decode.intensity, rel=1e-3)
    assert found["decode_share"] == pytest.approx(decode.bytes_per_s / 20e9, rel=1e-3)


def test_dots_of_another_machine_and_dots_above_the_slope_are_said_to_be_so():
    ours = run_roofline(story_run(), HERE, "light", recorded=False)
    assert "another machine" not in ours.note and "cache" not in ours.note
    other = this_machine(msgspec.structs.replace(probed(), cpu="Some other CPU"))
    assert "another machine" in run_roofline(story_run(), other, "light", recorded=True).note
    slow = this_machine(probed(bandwidth=1e9))
    assert "came out of a cache" in run_roofline(story_run(), slow, "light", recorded=False).note


@pytest.mark.parametrize("machine", HARDWARE)
def test_a_preset_shows_computed_steps_by_name_with_source_and_date(machine):
    shape = shape_of("qwen27b")
    drawn = preset_roofline(Choice(shape, {"shape": "qwen27b"}), HARDWARE[machine], "light")
    assert drawn.evidence == "computed" and HARDWARE[machine].source in drawn.how
    named = [name for trace in drawn.figure.data if trace.text for name in trace.text]
    assert named == ["prefill 8", "prefill 500", "prefill 8,192", "decode", "decode × 32"]
    assert {trace.marker.symbol for trace in drawn.figure.data if trace.text} == {"square-open", "circle-open"}
    x_high = 10 ** drawn.figure.layout.xaxis.range[1]
    assert all(max(trace.x) <= x_high for trace in drawn.figure.data)


def test_how_near_the_roof_is_said_in_shares_of_what_it_allows():
    dots = pass_dots(story_run())
    prefill, median = dots[0], median_dot(dots, "decode")
    allowed = min(200e9, 20e9 * prefill.intensity)
    said = reached(story_run(), HERE)
    assert f"prefill reached {100 * prefill.operations_per_s / allowed:.0f} %" in said
    assert f"median decode {100 * median.bytes_per_s / 20e9:.0f} %" in said


def test_rates_are_written_with_the_unit_that_fits():
    assert [rate(10**n) for n in (9, 11, 12, 14, 15)] == [
        "1.00 GFLOP/s", "100 GFLOP/s", "1.00 TFLOP/s", "100 TFLOP/s", "1.00 PFLOP/s",
    ]  # fmt: skip


def test_a_wide_range_is_said_to_be_one():
    assert "wide" not in measure_machine.told(probed())
    restless = msgspec.structs.replace(probed(), bandwidth_bytes_per_s=Rate(10e9, 2e9, 12e9, 9))
    assert "Measure again when it is quiet" in measure_machine.told(restless)


def page(recording: str) -> None:
    from engine.account.record import Sampling
    from lessons import catalogue
    from views.instruments.roofline import show
    from views.page_state import PageState
    from views.scene import Scene

    run = catalogue.recording(recording) if recording else None
    show(Scene(PageState("lab", Sampling()), recording, run), {}, "roof")


class Link:
    supervised = True


@pytest.fixture
def measuring(monkeypatch, tmp_path):
    """A user's cache folder with nothing in it, and a probe that answers at once; its commands are kept."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(measure_machine, "engine_link", Link)
    asked: list[list[str]] = []

    def run(command, **_options):
        asked.append(command)
        import os

        probe.save(probed(), probe.kept_at(min(2, os.cpu_count() or 1)))

    monkeypatch.setattr(measure_machine.subprocess, "run", run)
    return asked


def test_a_learner_measures_the_machine_and_the_roof_appears(measuring):
    app = AppTest.from_function(page, args=("story-once-upon-a-time",), default_timeout=20).run()
    assert not app.exception and "nobody has measured" in " ".join(one.value for one in app.markdown)
    app.button(key="roof-measure").click().run()
    assert [command[1:] for command in measuring] == [["-m", "engine", "probe", "--again"]]
    assert not app.exception and "nobody has measured" not in " ".join(one.value for one in app.markdown)
    assert any("The prefill reached" in one.value for one in app.markdown)
    assert any("20.0 (19.0–21.0) GB/s" in one.value for one in app.caption)


def test_a_measurement_that_fails_says_how_to_find_out_why(measuring, monkeypatch):
    def fails(command, **_options):
        raise subprocess.CalledProcessError(1, command)

    monkeypatch.setattr(measure_machine.subprocess, "run", fails)
    app = AppTest.from_function(page, args=("story-once-upon-a-time",), default_timeout=20).run()
    app.button(key="roof-measure").click().run()
    assert "python -m engine probe" in app.warning[0].value and not app.exception


def test_without_a_run_the_page_waits_for_one(measuring):
    app = AppTest.from_function(page, args=("",), default_timeout=20).run()
    assert not app.exception and any("when there is one" in one.value for one in app.caption)
