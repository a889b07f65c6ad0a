"""Pages of a cache: the picture has every page once, the words say what it shows, the boxes take what links ask."""

import plotly.graph_objects as go
import pytest
from streamlit.testing.v1 import AppTest

from engine.account.page_table import PAGE_SIZE, crowd, play
from lessons.instruments import INSTRUMENTS
from tests.views.test_palette import contrast
from views.figure_pages import COLUMNS, _letters, chats_figure, page_told, pool_figure
from views.instruments.pages import LAST_CROWD, LONGEST, LONGEST_PREFIX, MOST_CHATS, N_PAGES, SHORTEST
from views.palette import BACKGROUND, COLOURS


def table(n_chats=8, prefix=0, seed=1):
    return play(N_PAGES, prefix, crowd(n_chats, prefix, seed, SHORTEST, LONGEST))


def framed(line):
    """The pages that a broken line goes around: five corners and a break for each."""
    corners = list(zip(line.x, line.y, strict=True))[::6]
    return {round(y + 0.45) * COLUMNS + round(x + 0.45) for x, y in corners}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_page_has_a_place_and_those_that_several_chats_read_a_heavier_frame(theme):
    shared = table(5, 40)
    figure = go.Figure(pool_figure(shared, theme))
    thin, thick = figure.data[2:]
    assert len(framed(thin)) == N_PAGES and thick.line.width > thin.line.width
    heavy = framed(thick)
    assert heavy == {page for page in range(N_PAGES) if len(shared.readers(page)) > 1}
    assert len(heavy) == shared.shared_pages == 40 // PAGE_SIZE


def test_the_darkness_of_a_page_is_how_full_it_is_and_a_free_one_is_blank():
    now = table(3)
    cells = go.Figure(pool_figure(now, "light")).data[0].z
    flat = [cell for row in cells for cell in row]
    assert sum(cell is None for cell in flat) == now.pool.n_free
    assert sum(cell * PAGE_SIZE for cell in flat if cell is not None) == now.positions
    assert go.Figure(pool_figure(now, "light")).data[0].zmax == 1


def test_letters_tell_the_readers_without_colour_and_a_crowd_is_counted():
    five = table(5, 48)
    words = set(go.Figure(pool_figure(five, "light")).data[1].text)
    assert {"A", "B", "C", "D", "E", "×5"} <= words
    assert page_told(five, five.running[0].pages[0]).endswith("A B C D E, 16 of 16 places filled")
    assert page_told(five, N_PAGES - 1) == f"page {N_PAGES - 1}: free"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_each_bar_is_a_whole_context_and_the_axis_ends_there(theme):
    figure = go.Figure(chats_figure(table(), 2048, theme))
    assert list(figure.layout.xaxis.range) == [0, 2048]
    assert figure.layout.xaxis.title.text == "positions"
    assert [sum(trace.x[i] for trace in figure.data) for i in range(8)] == [2048] * 8
    assert figure.data[0].marker.color == COLOURS[theme]["kv"]
    assert [trace.name for trace in figure.data] == [
        "held", "empty in its last page", "kept free for it, if it got a whole context",
    ]  # fmt: skip


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_letters_stand_out_from_a_page_however_full(theme):
    low, high = BACKGROUND[theme], COLOURS[theme]["kv"]
    for places in range(1, PAGE_SIZE + 1):
        share = places / PAGE_SIZE
        mixed = [round(int(low[i : i + 2], 16) * (1 - share) + int(high[i : i + 2], 16) * share) for i in (1, 3, 5)]
        page = "#" + "".join(f"{part:02x}" for part in mixed)
        assert contrast(_letters(share, theme), page) >= 4, (places, theme)


def test_whoever_waits_owns_no_page():
    full = table(MOST_CHATS)
    assert full.waiting and all(not chat.pages for chat in full.waiting)


def test_the_limits_of_the_boxes_are_what_a_link_may_carry():
    settings = INSTRUMENTS["pages"]
    for name, largest in (("chats", MOST_CHATS), ("prefix", LONGEST_PREFIX), ("crowd", LAST_CROWD)):
        assert settings.problem(name, str(largest)) is None
    assert settings.problem("chats", "0") and settings.problem("chats", "25") and settings.problem("crowd", "12345")


def page(settings: str) -> None:
    import json

    from engine.account.record import Sampling
    from views.instruments.pages import show
    from views.page_state import PageState
    from views.scene import Scene

    show(Scene(PageState("lesson", Sampling()), "", None), json.loads(settings), "p")


def shown(settings: str = "{}") -> AppTest:
    """The instrument alone, as a page of its own."""
    test = AppTest.from_function(page, args=(settings,), default_timeout=30).run()
    assert not test.exception, test.exception
    return test


def told(test: AppTest) -> str:
    return "\n".join(one.value for one in [*test.markdown, *test.caption])


def test_it_says_what_runs_what_is_empty_and_what_whole_contexts_would_leave():
    test, now = shown(), table()
    assert f"8 chats run in {now.used_pages} of 128 pages." in told(test)
    assert f"{now.empty_places} places in their last pages are empty" in told(test)
    assert "With room for a whole context of 2,048 positions each, 1 would fit." in told(test)
    published = test.session_state["published.lesson"]
    assert set(published) == {f"pages.{name}" for name in INSTRUMENTS["pages"].publishes}
    assert published["pages.kv_bytes_per_page"] == 16 * 1024, "1 KiB a position in the bundled model"


def test_a_shared_beginning_saves_pages_and_says_how_many():
    alone, together = told(shown()), told(shown('{"prefix": "96"}'))
    assert "Sharing saves" not in alone
    assert f"Sharing saves {7 * 96 // PAGE_SIZE} pages." in together


def test_more_chats_than_fit_wait():
    test = shown('{"chats": "24"}')
    waiting = len(table(24).waiting)
    assert waiting and f"and {waiting} wait for room." in told(test)


def test_a_number_in_a_link_beyond_the_box_is_the_nearest_one_it_takes():
    assert shown('{"prefix": "999"}').number_input[1].value == LONGEST_PREFIX


def test_rows_of_the_picture_are_whole():
    assert N_PAGES % COLUMNS == 0
