"""A line drawn by hand, by finger and by keyboard, and what is said about it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.site.conftest import settled
from tests.browser.site.test_for_everyone import faults_light_and_dark
from tests.browser.site.visitor import visit

LESSON = "/what-the-model-remembers?guess=larger:state"
RIGHT = list(range(384, 1185, 100))


@pytest.fixture
def drawing(page: Page, app) -> Page:
    """Lesson 2 at its second question."""
    show(page, app.url)
    return page


def show(page: Page, url: str) -> None:
    visit(page, url + LESSON)
    page.wait_for_function("window.__flipbook !== undefined")  # above the drawing, which it moves when it comes
    page.locator(".sk svg").scroll_into_view_if_needed()


def place(page: Page, tokens: float, kib: float) -> tuple[float, float]:
    """Where a point of the drawing is on the screen: read off the lines that it draws itself."""
    box = page.locator(".sk svg").bounding_box()
    lines = page.locator(".sk-mark").evaluate_all("lines => lines.map(one => Number(one.getAttribute('x1')))")
    rows = page.locator(".sk-grid").evaluate_all("lines => lines.map(one => Number(one.getAttribute('y1')))")
    assert box is not None
    x = lines[0] + tokens / 800 * (lines[-1] - lines[0])
    y = rows[0] + kib / 500 * (rows[1] - rows[0])
    return box["x"] + x, box["y"] + y


def stroke(page: Page, *points: tuple[float, float]) -> None:
    """Draw with the mouse from point to point, each in tokens and KiB."""
    page.mouse.move(*place(page, *points[0]))
    page.mouse.down()
    for point in points[1:]:
        page.mouse.move(*place(page, *point), steps=5)
    page.mouse.up()


def marks(page: Page) -> Locator:
    """The sliders of the drawing, one for each mark; the picture above it has one of its own."""
    return page.locator(".sk").get_by_role("slider")


def values(page: Page) -> list[str | None]:
    """What each mark says to a screen reader."""
    return [slider.get_attribute("aria-valuetext") for slider in marks(page).all()]


def heights(page: Page) -> list[float]:
    return [float((one or "").removesuffix(" KiB").replace(",", "")) for one in values(page)]


def commit(page: Page) -> None:
    page.get_by_role("button", name="That is my guess").click()
    settled(page)


def test_a_line_drawn_with_a_mouse_is_judged_beside_the_right_one_and_a_reload_asks_nothing_again(drawing: Page):
    page = drawing
    expect(page.get_by_text("Draw your line here")).to_be_visible()
    stroke(page, (-10, 384), (450, 834), (805, 1189))
    assert all(abs(drawn - right) < 15 for drawn, right in zip(heights(page), RIGHT, strict=True))
    expect(page.get_by_text("Draw your line here")).to_be_hidden()
    commit(page)
    expect(page.get_by_text("You had it.", exact=True)).to_have_count(2)
    expect(page.get_by_role("heading", name="A step, then a slope")).to_be_visible()
    described = page.get_by_label("You drew: 0: ").get_attribute("aria-label") or ""
    assert "By the formula: 0: 384 KiB; 100: 484 KiB" in described
    page.reload()
    settled(page)
    assert page.get_by_label("You drew: 0: ").get_attribute("aria-label") == described


def test_a_single_point_can_be_moved_and_all_of_it_cleared(drawing: Page):
    page = drawing
    stroke(page, (0, 400), (800, 400))
    before = heights(page)
    stroke(page, (300, 400), (300, 900))
    after = heights(page)
    assert abs(after[3] - 900) < 15 and after[:3] + after[4:] == before[:3] + before[4:]
    page.get_by_role("button", name="Clear").click()
    assert set(values(page)) == {"not drawn yet"}
    expect(page.get_by_role("button", name="Clear")).to_be_hidden()


def test_half_a_line_is_asked_to_go_on_and_is_still_there(drawing: Page):
    page = drawing
    commit(page)
    expect(page.get_by_text("Draw a line first.")).to_be_visible()
    stroke(page, (0, 384), (310, 694))
    commit(page)
    expect(page.get_by_text("Draw the line on to the last mark.")).to_be_visible()
    assert [one == "not drawn yet" for one in values(page)] == [False] * 4 + [True] * 5


def test_a_line_that_is_not_sent_yet_outlives_a_look_at_another_page(drawing: Page):
    page = drawing
    stroke(page, (0, 384), (800, 1184))
    before = values(page)
    page.get_by_role("link", name="Lab", exact=True).click()
    expect(page.get_by_role("heading", level=1, name="Lab")).to_be_visible()
    page.get_by_role("link", name="2 · What the model remembers").click()
    expect(page.get_by_role("button", name="Clear")).to_be_visible()
    assert values(page) == before
    commit(page)
    expect(page.get_by_text("You had it.", exact=True)).to_have_count(2)


def test_by_keyboard_alone_every_mark_is_a_slider_that_says_where_it_is(drawing: Page):
    page = drawing
    sliders = marks(page)
    assert [one.get_attribute("aria-label") for one in sliders.all()][:2] == ["At 0 tokens held", "At 100 tokens held"]
    sliders.first.focus()
    for n in range(9):
        expect(sliders.nth(n)).to_be_focused()
        expect(page.locator(".sk-focus")).to_have_count(1)
        # Untouched it stands where the line left off: a key that cannot move it says that it is meant all the same.
        page.keyboard.press("Home" if n == 0 else "PageUp")
        page.keyboard.press("ArrowUp")
        page.keyboard.press("Tab")
    drawn = heights(page)
    assert drawn[0] == 5 and all(left < right for left, right in pairwise(drawn))
    page.get_by_role("button", name="That is my guess").focus()
    page.keyboard.press("Enter")
    settled(page)
    expect(page.get_by_text("“No text, no memory”")).to_be_visible()


def test_a_finger_draws_where_it_would_else_scroll_and_the_page_fits_a_phone(browser: Browser, app):
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page = context.new_page()
    try:
        show(page, app.url)
        at = page.locator("[data-testid=stMain]").evaluate("main => main.scrollTop")
        swipe(page, [place(page, 100 * n, 1200 - 120 * n) for n in range(9)])
        assert all(abs(drawn - (1200 - 120 * n)) < 25 for n, drawn in enumerate(heights(page)))
        assert page.locator("[data-testid=stMain]").evaluate("main => main.scrollTop") == at
        assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth - innerWidth") <= 0
        commit(page)
        expect(page.get_by_role("heading", name="Your line and what is right")).to_be_visible()
        expect(page.get_by_text("You had it.", exact=True)).to_have_count(1)
    finally:
        context.close()


def swipe(page: Page, points: list[tuple[float, float]]) -> None:
    """One finger from the first point to the last."""
    session = page.context.new_cdp_session(page)
    touch: Callable[[str, list[dict[str, float]]], object] = lambda kind, fingers: session.send(  # noqa: E731
        "Input.dispatchTouchEvent", {"type": kind, "touchPoints": fingers}
    )
    touch("touchStart", [{"x": points[0][0], "y": points[0][1]}])
    for x, y in points[1:]:
        touch("touchMove", [{"x": x, "y": y}])
    touch("touchEnd", [])


def test_axe_finds_nothing_at_the_drawing_nor_at_what_comes_of_it(drawing: Page):
    page = drawing
    page.emulate_media(color_scheme="light")
    for slider, kib in zip(marks(page).all(), RIGHT, strict=True):
        slider.fill(str(round(kib / 5) * 5))
    assert not faults_light_and_dark(page)
    page.emulate_media(color_scheme="light")
    commit(page)
    assert not faults_light_and_dark(page)
