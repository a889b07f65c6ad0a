"""The calculator on the page: its cards, its figure, and the boxes that fill in the sources' own requests."""

import pytest
from streamlit.testing.v1 import AppTest

from engine.account.presets import HARDWARE
from engine.account.what_if import BATCHES, Asked, answer
from lessons.instruments import INSTRUMENTS
from lessons.named_shapes import shape_of
from tests.pages.components import card_values
from views.figure_shared_read import shared_read_figure
from views.instruments.what_if import BITS, REQUESTS, cards
from views.palette import COLOURS


def asked(key="qwen27b", machine="H100 SXM", bits=16.0, p=8192, n=200, batch=1) -> Asked:
    return Asked(shape_of(key), HARDWARE[machine], bits, p, n, batch)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("key", ["story", "smollm2", "qwen4b", "qwen27b"])
def test_the_bars_hold_what_a_step_moves_a_token_and_lie_inside_the_axis(key, theme):
    drawn = shared_read_figure(asked(key), theme)
    low, high = drawn.figure.layout.yaxis.range
    heights = [sum(column) for column in zip(*(trace.y for trace in drawn.figure.data), strict=True)]
    assert low == 0 and max(heights) <= high and len(heights) == len(BATCHES)
    assert heights == sorted(heights, reverse=True), "sharing never costs bytes"
    assert drawn.figure.layout.showlegend and drawn.figure.layout.yaxis.title.text.endswith("a new token")


def test_only_the_weights_shrink_and_the_three_differ_by_colour_and_pattern():
    figure = shared_read_figure(asked(), "light").figure
    bars = {trace.name: trace for trace in figure.data}
    assert bars["weights"].y[0] == pytest.approx(bars["weights"].y[-1] * 256, rel=1e-3)
    for name in ("KV cache", "state"):
        assert bars[name].y[0] == pytest.approx(bars[name].y[-1])
    assert len({trace.marker.pattern.shape for trace in figure.data}) == 3
    assert [bars[n].marker.color for n in ("weights", "KV cache", "state")] == [
        COLOURS["light"][meaning] for meaning in ("weights", "kv", "state")
    ]


def test_the_figure_says_where_its_peaks_come_from_and_when():
    how = shared_read_figure(asked(), "light").how
    assert "H100 Tensor Core GPU data sheet" in how and "2023" in how and "floor" in how


def test_the_cards_say_what_the_facts_say_of_a_27b_model_on_an_h100():
    told = {label: (value, note) for label, value, note in cards(asked(), answer(asked()))}
    assert told["Weights held"][0] == "53.8 GB" and told["Weights read a step"][0] == "51.2 GB"
    assert told["A decode step, at least"][1] == "memory is the limit"
    assert told["Prefill, at least"][1] == "arithmetic is the limit"
    assert "295" in told["Arithmetic limits a step"][1]


def test_a_model_without_a_state_says_none_and_one_that_does_not_fit_says_how_much_is_missing():
    smol = {label: (value, note) for label, value, note in cards(asked("smollm2"), answer(asked("smollm2")))}
    assert smol["State"][0] == "none" and "0" not in smol["State"][0]
    big = asked(machine="RTX 4090")
    told = {label: note for label, _value, note in cards(big, answer(big))}
    assert told["Everything held"].startswith("too much: ")


def test_the_settings_of_a_link_cover_every_choice_on_the_page():
    instrument = INSTRUMENTS["what-if"]
    assert all(instrument.problem("bits", bits) is None for bits in BITS)
    assert all(instrument.problem("tokens_in", str(p)) is None for p, _n in REQUESTS)
    assert instrument.problem("batch", "0") and instrument.problem("machine", "abacus")


def page(settings: str) -> None:
    import json

    from engine.account.record import Sampling
    from views.instruments.what_if import show
    from views.page_state import PageState
    from views.scene import Scene

    show(Scene(PageState("lab", Sampling()), "", None), json.loads(settings), "if")


def test_a_learner_changes_bits_and_batch_and_sees_the_floor_move():
    app = AppTest.from_function(page, args=("{}",), default_timeout=20).run()
    assert not app.exception
    assert card_values(app)["Weights held"] == "53.8 GB"
    app.selectbox(key="if-bits").set_value("4.5").run()
    assert card_values(app)["Weights held"] == "15.1 GB"
    app.number_input(key="if-batch").set_value(8).run()
    cap = card_values(app)["Tokens a second each, at most"]
    assert not app.exception and float(cap.replace(",", "")) > 100


def test_a_link_brings_its_machine_its_bits_and_its_request():
    settings = '{"shape": "qwen4b", "machine": "rtx4090", "bits": "8", "tokens_in": "500", "tokens_out": "200"}'
    app = AppTest.from_function(page, args=(settings,), default_timeout=20).run()
    assert app.selectbox[1].value == "rtx4090"
    assert {one.label: one.value for one in app.number_input}["Prompt tokens"] == 500
    assert card_values(app)["Weights held"] == "4.21 GB"
