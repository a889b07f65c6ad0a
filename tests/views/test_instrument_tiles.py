"""Attention by the tile: the map shows the kernel's loop, the bars its bytes, and the words what happens at a turn."""

import plotly.graph_objects as go
import pytest
from streamlit.testing.v1 import AppTest

from engine.account.attention_traffic import Heads, positions_read, tiled
from lessons.instruments import INSTRUMENTS
from tests.pages.components import charts
from views.figure_tiles import BEFORE, NOT_YET, NOW, Tiling, bytes_figure, map_figure, ways
from views.instruments.tiles import KEYS, LENGTHS, QUERIES, kernel_tile
from views.palette import COLOURS

STORY = Heads(4, 2, 64)


def cells(figure):
    return figure.data[0].z


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_one_tile_is_read_now_and_it_is_framed_and_inside_the_axes(theme):
    tiling = Tiling(200, 64, 32)
    for turn in range(tiling.turns):
        figure = go.Figure(map_figure(tiling, turn, theme))
        program, tile = tiling.place(turn)
        now = [(y, x) for y, row in enumerate(cells(figure)) for x, cell in enumerate(row) if cell == NOW]
        assert now == [(program, tile)]
        (frame,) = figure.layout.shapes
        assert (frame.x0, frame.y0) == (tile * 32, program * 64)
        assert frame.x1 <= figure.layout.xaxis.range[1] and frame.y1 <= figure.layout.yaxis.range[0]


def test_turns_go_through_every_tile_that_is_read_once_and_no_tile_after_the_queries():
    tiling = Tiling(100, 16, 32)
    visited = [tiling.place(turn) for turn in range(tiling.turns)]
    assert len(set(visited)) == len(visited) == tiling.turns
    assert all(tile * 32 <= min((program + 1) * 16, 100) - 1 for program, tile in visited)
    states = [cell for row in cells(go.Figure(map_figure(tiling, 3, "light"))) for cell in row]
    assert states.count(BEFORE) == 3 and states.count(NOT_YET) == tiling.turns - 4
    assert states.count(None) == len(states) - tiling.turns


def test_after_the_last_turn_a_head_has_read_what_the_sums_say():
    for tiling in (Tiling(100, 16, 32), Tiling(64, 64, 64), Tiling(7, 1, 16)):
        assert tiling.keys_read(tiling.turns - 1) == positions_read(tiling.n_tokens, tiling.block_m)


def test_the_number_of_keys_in_a_tile_changes_what_is_on_the_chip_and_no_byte_that_moves():
    assert len({tiled(300, 64, STORY).total for _ in KEYS}) == 1
    moved = [[one.total for one in ways(Tiling(300, 64, n), STORY).values()] for n in KEYS]
    assert all(one == moved[0] for one in moved)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("n_tokens", [1, 64, 512, 8192])
def test_the_bars_add_up_to_their_labels_and_fit_the_axis(n_tokens, theme):
    drawn = bytes_figure(Tiling(n_tokens, 64, 64), STORY, theme)
    totals = drawn.table["bytes in all"]
    sums = [sum(trace.x[i] for trace in drawn.figure.data) for i in range(3)]
    size = totals[0] / sums[0]
    assert sums == pytest.approx([total / size for total in totals])
    assert max(sums) <= drawn.figure.layout.xaxis.range[1]
    assert drawn.figure.layout.xaxis.title.text in ("KiB", "MiB", "GiB")
    assert drawn.figure.data[0].marker.color == COLOURS[theme]["kv"]
    assert len({(one.marker.color, one.marker.pattern.shape) for one in drawn.figure.data}) == 3


def test_the_kernels_own_tile_is_the_one_that_was_counted():
    assert kernel_tile(64) == (64, 64)
    assert kernel_tile(256) == (64, 32)


def test_the_boxes_hold_what_a_link_may_ask_for():
    settings = INSTRUMENTS["tiles"]
    for name, choices in (("tokens", LENGTHS), ("queries", QUERIES), ("keys", KEYS)):
        assert all(settings.problem(name, str(one)) is None for one in choices)
    assert settings.problem("queries", "65") and settings.problem("tokens", "0")


def page(settings: str) -> None:
    import json

    from engine.account.record import Sampling
    from views.instruments.tiles import show
    from views.page_state import PageState
    from views.scene import Scene

    show(Scene(PageState("lesson", Sampling()), "", None), json.loads(settings), "t")


def shown(settings: str = "{}") -> AppTest:
    """The instrument alone, as a page of its own."""
    test = AppTest.from_function(page, args=(settings,), default_timeout=30).run()
    assert not test.exception, test.exception
    return test


def told(test: AppTest) -> str:
    return "\n".join(one.value for one in [*test.markdown, *test.caption])


def test_it_opens_on_the_kernels_own_tile_and_publishes_what_it_shows():
    test = shown()
    assert "the kernel's own" in test.selectbox[2].format_func(64)
    published = test.session_state["published.lesson"]
    assert set(published) == {f"tiles.{name}" for name in INSTRUMENTS["tiles"].publishes}
    assert published["tiles.tiled"] == tiled(256, 64, STORY).total
    assert "**Program 3 of 4** holds the queries 128 to 191." in told(test)


def test_a_turn_of_the_loop_is_told_in_words():
    test = shown('{"tokens": "100", "queries": "32", "keys": "32"}')
    test.slider[0].set_value(1).run()
    assert "**Program 1 of 4** holds the queries 0 to 31." in told(test)
    assert "It reads keys and values 0 to 31, tile 1 of its 1." in told(test)


def test_one_token_is_one_tile_and_there_is_nothing_to_step_through():
    test = shown('{"tokens": "1"}')
    assert not test.slider and "**Program 1 of 1**" in told(test)


def test_tiles_too_small_to_see_are_not_drawn_and_their_number_is_said():
    test = shown('{"tokens": "8192", "queries": "1", "keys": "16"}')
    assert "too many to draw" in told(test)
    assert len(charts(test)) == 1


def test_another_model_has_boxes_with_its_own_tile():
    test = shown('{"shape": "qwen4b"}')
    assert [box.value for box in test.selectbox] == ["qwen4b", 256, 64, 32]
