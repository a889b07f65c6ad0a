"""What is said in words, and the picture on any screen."""

from __future__ import annotations

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.browser.flipbook.look import at_rest, block, lit, live
from tests.browser.flipbook.page import mount
from tests.browser.flipbook.runs import run_of, saved, story


def test_the_scrubber_and_the_picture_are_told_in_words(page):
    mount(page, recording=saved(story()), at=2)
    at_rest(page)
    scrub = page.get_by_role("slider", name="Pass")
    expect(scrub).to_have_attribute("aria-valuetext", "pass 3 of 10, decode, “w1” in, “w2” out")
    expect(page.locator(".fb-score-canvas")).to_have_attribute(
        "aria-label", "Pass 3 of 10, decode. “w1” in, “w2” out. KV cache 10 KiB, state 24 KiB."
    )
    page.locator(".fb").focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    voice = page.locator("[aria-live=polite]")
    assert voice.text_content() == "", "nothing is said while it moves"
    expect(voice).to_have_text(re.compile("^Pass 6 of 10, decode"))


def test_the_table_holds_every_pass(page):
    mount(page, recording=saved(story()), at=0)
    page.get_by_role("button", name="Table of the passes").click()
    rows = page.get_by_role("row")
    expect(rows).to_have_count(11)
    expect(rows.nth(0)).to_have_text("PassPhaseTokens inTokens outTimeKV cache afterState after")
    expect(rows.nth(2)).to_have_text("2decode·w0·w14 ms9 KiB24 KiB")


def test_markup_in_tokens_is_shown_and_never_run(page):
    page.evaluate("window.ran = false")
    bad = "<img src=x onerror='window.ran=true'>"
    mount(page, recording=saved(run_of([bad, " a"], [bad, "\n\n", b"\xe2\x96", " end"])), at=1)
    at_rest(page)
    expect(page.locator(".fb-text")).to_contain_text(bad)
    expect(page.locator(".fb-pass-detail")).to_have_text(f"“{bad}” in, alone → “↵↵” out")
    page.keyboard.press("t")
    page.locator(".fb-scrub").fill("2")
    expect(page.locator(".fb-bar-chosen .fb-bar-token")).to_have_text("‹E2 96›")
    assert page.locator(".fb img").count() == 0
    assert page.evaluate("window.ran") is False


def test_the_evidence_says_how_the_numbers_were_made(page):
    mount(page, recording=saved(story()), at=0)
    label = page.get_by_role("button", name="recorded Mar 5, 2026")
    label.focus()
    expect(page.get_by_role("tooltip")).to_be_visible()
    expect(page.get_by_role("tooltip")).to_contain_text("Test CPU (2 threads)")


@pytest.mark.parametrize("width", [320, 390, 736, 1280, 1920])
def test_nothing_sticks_out_at_any_width(page, width):
    page.set_viewport_size({"width": width, "height": 844})
    mount(page, recording=saved(story(60)), at=30)
    at_rest(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_on_a_phone_the_controls_are_under_the_thumb(page):
    page.set_viewport_size({"width": 390, "height": 844})
    mount(page, recording=saved(story()), at=4)
    at_rest(page)
    for name in ("First pass", "Back one pass", "Play", "Forward one pass", "Last pass"):
        place = page.get_by_role("button", name=name, exact=True).bounding_box()
        assert place["width"] >= 44 and place["height"] >= 44
        assert 422 < place["y"] < 844 - 44, "in the lower half of the first screen"
    assert lit(page, "decode") == block([11]), "the same picture"
    order = [
        page.locator(name).bounding_box()["y"]
        for name in (".fb-text", ".fb-score", ".fb-memory", ".fb-odds", ".fb-time")
    ]
    assert order == sorted(order)


STATES = {
    "prefill": {"at": 0},
    "decode": {"at": 4},
    "hidden": {"reveal": False},
}


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("state", STATES)
def test_axe_finds_nothing(page, theme, state):
    mount(page, theme=theme, recording=saved(story()), **STATES[state])
    if state != "hidden":
        at_rest(page)
        page.get_by_role("button", name="Table of the passes").click()
    found = Axe().run(page, context="#host")
    assert [(fault["id"], fault["nodes"][0]["html"]) for fault in found.response["violations"]] == []


@pytest.mark.parametrize("width", [390, 1280])
def test_axe_finds_nothing_in_a_live_run_that_failed(page, width):
    page.set_viewport_size({"width": width, "height": 844})
    live(page, 6)
    page.evaluate("sockets[0].drop()")
    expect(page.locator(".fb-note")).to_be_visible()
    assert [fault["id"] for fault in Axe().run(page, context="#host").response["violations"]] == []
