"""Plotly figures on a page: changed where they stand, as wide as their place, and said where they cannot be drawn."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.site.visitor import visit

WIDE, NARROW = {"width": 1280, "height": 900}, {"width": 390, "height": 844}


def test_a_figure_changes_where_it_stands_and_follows_the_width_of_the_page(page, app):
    page.set_viewport_size(WIDE)
    visit(page, app.url + "/lab?instrument=tiles")
    figure = page.get_by_role("figure", name=re.compile("Map of tiles"))
    svg = figure.locator(".main-svg").first
    svg.wait_for()
    figure.evaluate("figure => { figure.seen = true }")
    words, drawn = figure.get_attribute("aria-label"), svg.inner_html()
    page.get_by_role("slider", name="Turn of the loop").press("ArrowRight")
    expect(figure).not_to_have_attribute("aria-label", words)
    page.wait_for_function(
        "([figure, drawn]) => figure.querySelector('.main-svg').innerHTML !== drawn",
        arg=[figure.element_handle(), drawn],
    )
    assert figure.evaluate("figure => figure.seen"), "it was taken off the page, which flickers"
    page.set_viewport_size(NARROW)
    page.wait_for_function(
        "figure => figure.clientWidth <= 390 && figure.querySelector('.main-svg').clientWidth === figure.clientWidth",
        arg=figure.element_handle(),
    )


def test_a_figure_whose_code_does_not_arrive_says_so_where_it_would_stand_and_its_numbers_are_there(page, app):
    page.route("**/twospeeds/plotly/**", lambda route: route.abort())
    visit(page, app.url + "/lab")
    figure = page.get_by_role("figure").filter(has_text="could not be loaded").first
    figure.scroll_into_view_if_needed()
    expect(figure).to_be_visible()
    page.get_by_text("The numbers as a table").first.click()
    expect(page.get_by_test_id("stDataFrame").first).to_be_visible()
