"""The prose of a lesson says the numbers of the instrument before it, as it is set now."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.pictures import PASS_OVER
from tests.browser.site.conftest import settled
from tests.browser.site.visitor import visit


def test_prose_follows_its_instrument_and_nothing_of_the_old_picture_stays(page, app):
    visit(page, f"{app.url}/pages-and-tiles?guess=pages:2")
    page.wait_for_function("window.__flipbook !== undefined")  # it moves what stands below it when it comes
    passing_over = page.get_by_role("button", name=PASS_OVER[1])
    passing_over.first.click()
    expect(page.get_by_role("heading", name="A table instead of one long piece")).to_be_visible()
    passing_over.first.click()
    expect(page.get_by_text("Over 512 tokens, one layer moves")).to_be_visible()
    settled(page)
    page.get_by_role("combobox", name="Tokens of the prompt").click()
    page.get_by_role("option", name="8,192").click()
    expect(page.get_by_text("Over 8,192 tokens, one layer moves")).to_be_visible()
    page.get_by_role("combobox", name="Queries in a tile").click()
    page.get_by_role("option", name="1", exact=True).click()
    expect(page.get_by_text("with tiles of 1 query")).to_be_visible()
    expect(page.get_by_text("tiles are too many to draw one by one")).to_be_visible()
    expect(page.get_by_role("slider", name="Turn of the loop")).to_have_count(0)
    page.get_by_role("combobox", name="Tokens of the prompt").click()
    page.get_by_role("option", name="64", exact=True).click()
    expect(page.get_by_text("Over 64 tokens, one layer moves")).to_be_visible()
    expect(page.get_by_text("tiles are too many to draw one by one")).to_have_count(0)
