"""Any model's memory: figures hold what they show, sizes are the facts', the page changes when a person does."""

import pytest
from streamlit.testing.v1 import AppTest

from engine.account import cost
from engine.account.kv_ways import KINDS, layer_bytes, ways
from engine.account.own_shape import Numbers, ShapeError
from engine.account.own_shape import shape_of as described
from lessons.filters import binary_bytes
from lessons.named_shapes import SHAPE_KEYS, shape_of
from tests.pages.components import card_values, cards
from views.figure_kept import END, kept_figure, layers_figure
from views.instruments.kept import LENGTHS, WAYS, compared, lengths, ways_table
from views.palette import COLOURS
from views.shape_choice import NAMES, WORDS, key_for

LLAMA_2_7B = described(Numbers(), "7B")
SHAPES = {**{key: shape_of(key) for key in SHAPE_KEYS}, "own": LLAMA_2_7B}


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("key", SHAPES)
def test_every_line_lies_inside_both_axes_at_any_cursor(key, theme):
    for positions in (1, 17, END):
        figure = kept_figure(SHAPES[key], positions, theme).figure
        (x_low, x_high), (y_low, y_high) = figure.layout.xaxis.range, figure.layout.yaxis.range
        for trace in figure.data:
            assert 10**x_low <= min(trace.x) and max(trace.x) <= 10**x_high
            # A power of two comes back from the axis' powers of ten a few roundings away.
            assert 10**y_low <= min(trace.y) * (1 + 1e-9) and max(trace.y) <= 10**y_high * (1 + 1e-9)
        assert figure.layout.xaxis.title.text == "tokens held"
        assert set(figure.layout.yaxis.ticktext) <= {binary_bytes(2**power) for power in range(60)}


def test_cache_and_state_differ_by_colour_and_by_line_and_are_named_in_the_legend():
    figure = kept_figure(SHAPES["qwen4b"], 17, "light").figure
    lines = {trace.name: trace for trace in figure.data}
    assert figure.layout.showlegend
    assert (lines["KV cache"].line.color, lines["state"].line.color) == tuple(
        COLOURS["light"][meaning] for meaning in ("kv", "state")
    )
    assert (lines["KV cache"].line.dash, lines["state"].line.dash) == (None, "dash")
    assert lines["KV cache here"].marker.symbol != lines["state here"].marker.symbol


@pytest.mark.parametrize(
    ("key", "crossover"),
    [("story", 384), ("qwen08b", 1536), ("qwen2b", 1536), ("qwen4b", 1536), ("qwen9b", 1536), ("qwen27b", 2304)],
)
def test_the_crossover_is_marked_where_the_facts_say(key, crossover):
    (mark,) = [trace for trace in kept_figure(SHAPES[key], 17, "light").figure.data if trace.name == "crossover"]
    assert list(mark.x) == [crossover] and list(mark.y) == [cost.kv_bytes(SHAPES[key], crossover)]


def test_a_model_of_attention_alone_has_no_state_and_no_crossover_and_says_so():
    drawn = kept_figure(SHAPES["smollm2"], 17, "light")
    assert {trace.name for trace in drawn.figure.data} == {"cursor", "KV cache", "KV cache here"}
    assert "there is no state" in drawn.note and compared(17, 0)[1] is None


def test_the_layers_of_a_hybrid_add_up_to_what_the_model_keeps():
    shape = SHAPES["qwen27b"]
    sizes = layer_bytes(shape, 100_000)
    assert len(sizes) == 64 and sum(sizes) == cost.kv_bytes(shape, 100_000) + cost.recurrent_state_bytes(shape)
    figure = layers_figure(shape, 100_000, "light").figure
    counts = {trace.name: len(trace.x) for trace in figure.data}
    assert counts == {"KV cache": 16, "state": 48}
    assert len({trace.marker.pattern.shape for trace in figure.data}) == 2
    low, high = figure.layout.yaxis.range
    assert low == 0 and all(max(trace.y) <= high for trace in figure.data)


@pytest.mark.parametrize(
    ("kind", "bytes_per_token"),
    # Llama 2 7B, two bytes a number: 32 layers x 2 x 32 x 128; one pair of heads; 512 + 64 numbers.
    [("MHA", 524_288), ("GQA", 524_288), ("MQA", 16_384), ("MLA", 36_864)],
)
def test_each_way_of_keeping_costs_a_7b_model_what_its_paper_says(kind, bytes_per_token):
    assert {one.kind: one.bytes_per_token for one in ways(LLAMA_2_7B, 32)}[kind] == bytes_per_token


def test_the_way_that_a_model_takes_is_its_own_formula():
    smol = {one.kind: one for one in ways(SHAPES["smollm2"], 30)}
    assert smol["GQA"].bytes_per_token == cost.kv_bytes_per_position(SHAPES["smollm2"]) == 23_040
    table = ways_table(SHAPES["qwen27b"], 100_000, 512, 64)
    assert table["a token"][-1] == "64 KiB" and table["fixed besides"] == [""] * 4 + ["144 MiB"]
    assert table["at 100,000 tokens"][-1] == "6.2 GiB", "6.10 GiB of cache and 144 MiB of state"
    assert len(table["way"]) == len(KINDS) + 1 and set(WAYS) == set(KINDS)


def test_the_slider_stops_at_every_length_that_has_a_name():
    for shape in SHAPES.values():
        stops = lengths(shape, 1234)
        assert stops[0] == 1 and stops[-1] == END and {*LENGTHS, 1234} <= set(stops)
        assert cost.crossover_positions(shape) in (None, *stops)


@pytest.mark.parametrize("name", cost.PRESET_SHAPES)
def test_a_models_own_numbers_give_the_same_model_again(name):
    shape = cost.PRESET_SHAPES[name]
    again = described(Numbers.read(Numbers.of(shape).written()), name)
    assert again.parameters == shape.parameters and again.layer_types == shape.layer_types
    assert cost.kv_bytes_per_position(again) == cost.kv_bytes_per_position(shape)
    assert cost.recurrent_state_bytes(again) == cost.recurrent_state_bytes(shape)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("heads=32 kv_heads=5", "cannot share"),
        ("full_layers=0", "at least one layer"),
        ("linear_layers=8", "at least one state head"),
        ("head_dim=0", "above 0"),
        ("full_layers=9999", "from 0 to 256"),
    ],
)
def test_numbers_that_no_model_can_have_are_refused_in_plain_words(text, why):
    with pytest.raises(ShapeError, match=why):
        described(Numbers.read(text), "mine")


def test_numbers_that_cannot_be_read_are_refused():
    for text in ("wings=2", "heads=many"):
        with pytest.raises(ShapeError):
            Numbers.read(text)


def test_other_settings_make_other_widgets_so_that_a_second_link_counts():
    keys = {key_for("kept", one) for one in ({}, {"shape": "qwen4b"}, {"shape": "qwen9b"}, {"positions": "9"})}
    assert len(keys) == 4 and "kept" in keys
    assert key_for("kept", {"a": "1", "b": "2"}) == key_for("kept", {"b": "2", "a": "1"})


def test_every_shape_and_every_field_has_a_name():
    assert set(NAMES) == {*SHAPE_KEYS, "own"}
    assert set(WORDS) == set(Numbers.__struct_fields__)


def page(settings: str) -> None:
    import json

    from engine.account.record import Sampling
    from views.instruments.kept import show
    from views.page_state import PageState
    from views.scene import Scene

    show(Scene(PageState("lab", Sampling()), "", None), json.loads(settings), "kept")


def drawn(settings: str = "{}") -> AppTest:
    return AppTest.from_function(page, args=(settings,), default_timeout=20).run()


def test_a_learner_moves_the_cursor_changes_the_model_and_places_a_model_of_their_own():
    app = drawn()
    assert not app.exception and [value for _label, value, _note in cards(app)][:3] == ["17 KiB", "384 KiB", "22.6 ×"]
    app.select_slider[0].set_value(8192).run()
    assert [value for _label, value, _note in cards(app)][:2] == ["8 MiB", "384 KiB"]
    app.selectbox[0].set_value("qwen27b").run()
    assert [value for _label, value, _note in cards(app)] == ["512 MiB", "144 MiB", "3.6 ×", "2.8 MiB"]
    assert "The cache is larger" in card_values(app)
    app.selectbox[0].set_value("own").run()
    assert cards(app)[0][1] == "4 GiB" and not app.exception
    app.number_input(key="kept-own-kv_heads").set_value(5).run()
    assert "cannot share" in app.warning[0].value and not cards(app)


def test_a_link_brings_its_model_and_its_length():
    app = drawn('{"shape": "qwen4b", "positions": "100000"}')
    assert cards(app)[0][1] == "3.1 GiB" and app.selectbox[0].value == "qwen4b"
    app = drawn('{"shape": "own", "own": "heads=8 kv_heads=1 full_layers=2", "positions": "10"}')
    assert cards(app)[0][1] == "10 KiB", "2 layers x 2 x 1 head x 128 numbers x 2 bytes x 10 tokens"
