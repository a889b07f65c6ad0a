"""Fewer bits on the page: bars to scale, what was measured with its origin, and texts told apart where they part."""

import msgspec
import pytest
from streamlit.testing.v1 import AppTest

from engine.account.bits import SCHEMES
from engine.account.metrics import timings
from engine.account.presets import HARDWARE
from engine.account.record import Run, Sampling
from engine.serve import wire
from engine.serve.client import EngineRefused
from lessons import fewer_bits
from lessons.fewer_bits import FewerBits, Format, ModelMeasured, Odds
from lessons.instruments import INSTRUMENTS
from lessons.named_shapes import shape_of
from tests.lessons.story_run import STORY, story_run
from views import engine_calls, run_limits, three_formats
from views.figure_bits import bytes_figure, group_figure
from views.instruments import bits
from views.palette import COLOURS
from views.run_limits import Books, Limits

H100 = HARDWARE["H100 SXM"]


def kept(weights: str, ns: int, n_bytes: int, odds: Odds | None = None, texts: tuple[str, ...] = ()) -> Format:
    return Format(weights, weights, 8.0, n_bytes, n_bytes, ns, 10 * ns, odds, list(texts))


FOUND = FewerBits(
    "2026-11-30T00:00:00+00:00", "Test CPU", 1, "a command", ["One day"], 3,
    [
        ModelMeasured("story", False, 32, 20, 5, [
            kept("bf16", 2000, 16, texts=(" a dog ran",)),
            kept("int8", 1000, 8, Odds(274, 0.001, 0.01, 0.99), (" a dog ran",)),
            kept("int4", 800, 4, Odds(274, 0.04, 0.4, 0.9), (" a cat sat",)),
        ]),
        ModelMeasured("large, random weights", True, 32, 20, 5, [kept("bf16", 9000, 16), kept("int4", 3000, 4)]),
    ],
)  # fmt: skip


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("key", ["story", "qwen4b", "qwen27b"])
def test_bars_start_at_nought_lie_inside_the_axis_and_carry_their_size(key, theme):
    figure = bytes_figure(shape_of(key), H100, theme).figure
    (bars,) = figure.data
    low, high = figure.layout.xaxis.range
    assert low == 0 and max(bars.x) < high and len(bars.x) == len(SCHEMES)
    assert len(set(bars.y)) == len(SCHEMES), "bars of the same name would be stacked"
    assert bars.marker.color == COLOURS[theme]["weights"]
    if key == "qwen4b":
        assert bars.text[3] == "2.37 GB, 4.5 bits" and figure.layout.xaxis.title.text == "GB"


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("n", [4, 8])
def test_real_weights_and_rounded_ones_differ_by_symbol_and_lie_inside_the_axes(n, theme):
    drawn = group_figure(bits.story_row(3), 0, n, theme)
    *levels, before, after = drawn.figure.data
    assert before.marker.symbol != after.marker.symbol and before.name != after.name and drawn.figure.layout.showlegend
    (x_low, x_high), (y_low, y_high) = drawn.figure.layout.xaxis.range, drawn.figure.layout.yaxis.range
    for trace in (before, after):
        assert x_low < min(trace.x) and max(trace.x) < x_high and y_low < min(trace.y) and max(trace.y) < y_high
    lines = {y for trace in levels for y in trace.y if y is not None}
    assert len(lines) == (16 if n == 4 else 0) and all(y_low < y < y_high for y in lines)
    assert n == 8 or len(set(after.y)) <= 16


def test_eight_bits_keep_more_than_four():
    notes = [group_figure(bits.story_row(3), 0, n, "light").note for n in (4, 8)]
    errors = [float(note.partition("error: ")[2].partition(" %")[0]) for note in notes]
    assert errors[0] > 5 * errors[1] > 0


def test_the_table_leaves_blank_what_nobody_measured():
    table = bits.measured_table(FOUND)
    assert table["decode, times as fast"] == ["1.00", "2.00", "2.50", "1.00", "3.00"]
    assert table["same favourite"] == ["", "99.0 %", "90.0 %", "", ""]
    assert table["divergence (nats)"] == ["", "0.0010", "0.0400", "", ""]
    assert "Test CPU" in bits.measured_how(FOUND) and "2026-11-30" in bits.measured_how(FOUND)


def test_what_prose_may_say_is_what_the_instrument_is_said_to_publish():
    values = bits.results(FOUND)
    assert set(values) == set(INSTRUMENTS["bits"].publishes) == set(bits.results(None))
    assert set(bits.results(None).values()) == {None}
    assert values["int4_decode"] == 2.5 and values["int4_bytes"] == 4 and values["int4_same"] == 0.9
    assert values["large_bf16_rate"] == 16e9 / 9000 and values["large_int4_rate"] == 4e9 / 3000
    assert values["large_int4_decode"] == 3 and values["large_int8_decode"] is None


def test_a_text_is_bold_from_the_word_on_at_which_it_leaves_the_first_one():
    first, same, other = FOUND.models[0].formats
    exact = first.texts[0]
    assert bits.told_text(exact, first, 0) == " a dog ran"
    assert "the same, word for word" in bits.told_text(exact, same, 0)
    assert bits.told_text(exact, other, 0) == " a  **cat sat**"
    assert bits.common_beginning("a cart", "a carpet") == 2, "to the end of a word"
    assert bits.common_beginning("a dog", "a dog ran") == len("a dog ")


def test_what_ships_can_be_read_and_says_what_the_lesson_builds_on():
    found = fewer_bits.measured()
    assert found is not None
    story = fewer_bits.of_model("story")
    assert story is not None and [one.weights for one in story.formats] == ["bf16", "int8", "int4"]
    assert all(len(one.texts) == len(found.prompts) for one in story.formats)
    held = [one.step_bytes for one in story.formats]
    assert held == sorted(held, reverse=True)
    eight, four = story.formats[1].odds, story.formats[2].odds
    assert eight.same_top_choice > four.same_top_choice and eight.divergence_mean < four.divergence_mean


def test_a_measurement_that_is_not_there_or_damaged_is_none(monkeypatch, tmp_path):
    monkeypatch.setattr(fewer_bits, "MEASUREMENTS", tmp_path)
    assert fewer_bits.measured() is None and fewer_bits.of_model("story") is None
    (tmp_path / "fewer-bits.json").write_bytes(b"{}")
    assert fewer_bits.measured() is None


def page(settings: str) -> None:
    import json

    from engine.account.record import Sampling
    from views.instruments.bits import show
    from views.page_state import PageState
    from views.scene import Scene

    show(Scene(PageState("lab", Sampling()), "", None), json.loads(settings), "bits")


def test_a_learner_reads_three_texts_and_looks_at_other_weights():
    app = AppTest.from_function(page, args=("{}",), default_timeout=20).run()
    assert not app.exception
    said = " ".join(one.value for one in app.markdown)
    assert "16 bits" in said and "8 bits" in said and "4 bits" in said
    app.number_input(key="bits-group-row-number").set_value(700).run()
    assert not app.exception


def test_without_a_measurement_a_plain_sentence_stands_there(monkeypatch, tmp_path):
    monkeypatch.setattr(fewer_bits, "MEASUREMENTS", tmp_path)
    app = AppTest.from_function(page, args=("{}",), default_timeout=20).run()
    assert not app.exception and any("Not measured yet" in one.value for one in app.markdown)


class ThreeEngines:
    """Answers every run at once: in 16 and 8 bits alike, in 4 bits with another third word."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str | None]] = []
        self.refuses: EngineRefused | None = None

    @property
    def client(self):
        return self

    def models(self):
        return [STORY]

    def submit(self, prompt: str, _sampling: Sampling, model: str | None) -> str:
        if self.refuses:
            raise self.refuses
        self.asked.append((prompt, model))
        return str(len(self.asked) - 1)

    def run(self, run_id: str) -> Run:
        words = [" a", " dog", " sat" if self.asked[int(run_id)][1] == "story:int4" else " ran"]
        return story_run(reply=words)

    def health(self) -> wire.Health:
        return wire.Health("ready")


@pytest.fixture
def engines(monkeypatch):
    found = ThreeEngines()
    for module in (three_formats, engine_calls):
        monkeypatch.setattr(module, "engine_link", lambda: found)
    monkeypatch.setattr(three_formats, "keep_run", lambda run_id: None)
    return found


def test_a_learners_prompt_runs_in_three_formats_and_the_odds_say_where_they_part(engines):
    app = AppTest.from_function(page, args=("{}",), default_timeout=20).run()
    app.text_input(key="bits-own-text").set_value("One day")
    app.button[0].click().run()
    assert not app.exception
    assert engines.asked == 2 * [("One day", "story"), ("One day", "story:int8"), ("One day", "story:int4")], "in turns"
    said = " ".join(one.value for one in app.markdown)
    assert "The same tokens as in 16 bits." in said
    assert "at token 3: `sat` instead of `ran`" in said
    assert [one.value for one in app.metric].count("2.00 ms") == 3


def test_of_two_runs_in_a_format_the_less_disturbed_one_counts(engines, monkeypatch):
    def slower_first(run_id: str) -> Run:
        run = story_run()
        late = 1_000_000 if int(run_id) < 3 else 0
        return Run([msgspec.structs.replace(one, end_ns=one.end_ns + late * one.number) if one in run.passes else one
                    for one in run.events])  # fmt: skip

    monkeypatch.setattr(engines, "run", slower_first)
    runs, problem = three_formats.run_all("One day")
    assert problem is None and [timings(one).itl_p50_ns for one in runs] == [2_000_000] * 3


def test_an_engine_that_refuses_says_why_and_an_empty_prompt_is_not_sent(engines):
    app = AppTest.from_function(page, args=("{}",), default_timeout=20).run()
    app.text_input(key="bits-own-text").set_value("")
    app.button[0].click().run()
    assert "The prompt is empty" in app.warning[0].value and engines.asked == []
    engines.refuses = EngineRefused("engine_failed", "There is not enough memory.", 503)
    app.text_input(key="bits-own-text").set_value("One day")
    app.button[0].click().run()
    assert "not enough memory" in app.warning[0].value and not app.exception


def test_six_runs_count_for_whoever_asks_and_too_many_are_not_sent(engines, monkeypatch):
    """They went past the limits that every other run of a learner keeps to."""
    books = Books(Limits(runs_a_minute=8))
    monkeypatch.setattr(run_limits, "books", lambda: books)
    monkeypatch.setattr(run_limits, "browser", lambda: "a visitor")
    assert three_formats.run_all("One day")[1] is None
    runs, problem = three_formats.run_all("One day")
    assert runs == [] and "more than 8 runs in a minute" in problem and len(engines.asked) == 6


def test_a_departure_tells_both_odds_only_where_both_are_known():
    left = three_formats.Departure(3, " ran", " sat", 0.5, None)
    assert "odds" not in three_formats.told(left)
    near = three_formats.told(three_formats.Departure(3, " ran", " sat", 0.31, 0.29))
    assert "29 % and 31 %" in near
    assert three_formats.departure(story_run(), story_run()) is None


def test_what_a_format_gains_stands_by_model_and_odds_only_where_they_were_compared():
    small, large = (bits.gains_table(model) for model in FOUND.models)
    assert small["decode, times as fast"] == ["1.00", "2.00", "2.50"]
    assert small["same favourite"] == ["", "99.0 %", "90.0 %"]
    assert large["decode, times as fast"] == ["1.00", "3.00"] and "same favourite" not in large
