"""A teacher at a projector: keys turn the screens, B hides the text, the notes window follows and moves the stage."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from lessons.catalogue import lessons
from tests.browser.site.conftest import settled
from tests.browser.site.test_for_everyone import faults
from tests.browser.site.visitor import LESSON, ask, says, visit
from views.presenting import slides_of

ALL = 6
"""Screens of lesson 1."""


def on_slide(page: Page, number: int) -> None:
    """Until the bar says so and the server has drawn it."""
    expect(page.locator(f"[class*='st-key-slide-'][class*='-{number}']")).to_be_visible()
    settled(page)


@pytest.fixture
def stage(page: Page, app) -> Page:
    visit(page, f"{app.url}{LESSON}?present=1")
    on_slide(page, 1)
    page.get_by_role("group", name="Presenting").wait_for()
    return page


def test_keys_and_buttons_turn_the_screens_and_a_reload_stays(stage):
    expect(stage.get_by_test_id("stSidebar")).to_have_count(0)
    stage.keyboard.press("ArrowRight")
    on_slide(stage, 2)
    says(stage, "What happened")
    expect(stage.get_by_text("You send a message")).to_have_count(0)
    stage.keyboard.press("Space")
    on_slide(stage, 3)
    stage.keyboard.press("PageUp")
    on_slide(stage, 2)
    stage.get_by_role("button", name="Next").click()
    on_slide(stage, 3)
    stage.reload()
    on_slide(stage, 3)
    stage.get_by_role("group", name="Presenting").wait_for()
    stage.keyboard.press("ArrowLeft")
    on_slide(stage, 2)
    stage.get_by_role("button", name="Back").click()
    on_slide(stage, 1)
    stage.keyboard.press("ArrowLeft")
    stage.wait_for_timeout(500)
    on_slide(stage, 1)


def test_type_is_large_and_nothing_runs_off_the_side(stage):
    size = "parseFloat(getComputedStyle(document.querySelector('[data-testid=stMarkdown] p')).fontSize)"
    assert stage.evaluate(size) >= 18
    stage.set_viewport_size({"width": 1920, "height": 1080})
    assert stage.evaluate(size) >= 28
    assert stage.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth - innerWidth") <= 0


def test_b_hides_the_text_and_leaves_the_picture(stage):
    text, picture = stage.get_by_text("You send a message").first, stage.locator(".fb-score-canvas")
    stage.keyboard.press("b")
    expect(text).to_be_hidden()
    expect(picture).to_be_visible()
    says(stage, "The text is hidden. B shows it again.")
    expect(stage.get_by_role("button", name="Hide the text")).to_have_attribute("aria-pressed", "true")
    stage.keyboard.press("b")
    expect(text).to_be_visible()


def test_what_one_types_or_works_with_keeps_its_keys_and_the_keyboard_gets_everywhere(stage):
    box = stage.get_by_role("textbox").first
    box.click()
    box.press("End")
    stage.keyboard.type(" b b")
    stage.keyboard.press("ArrowLeft")
    assert box.input_value().endswith("a b b")
    on_slide(stage, 1)
    stage.get_by_role("group", name="Flipbook of one request").focus()
    stage.keyboard.press("ArrowRight")
    stage.wait_for_timeout(500)
    on_slide(stage, 1)
    reached = set()
    stage.evaluate("document.activeElement.blur()")
    for _ in range(40):
        stage.keyboard.press("Tab")
        reached.add(stage.evaluate(
            "(() => { let e = document.activeElement; while (e?.shadowRoot?.activeElement) "
            "e = e.shadowRoot.activeElement; return e?.textContent || e?.tagName })()"
        ))  # fmt: skip
    missing = {"Next →", "Leave", "INPUT"} - reached
    assert not missing, reached


def test_a_prompt_of_the_class_runs_on_the_stage(stage):
    ask(stage, "The dog ran")
    stage.get_by_role("button", name="Run without a guess").click()
    stage.wait_for_function("window.__flipbook?.isOver === true")
    settled(stage)
    stage.locator("body").press("PageDown")
    on_slide(stage, 2)
    says(stage, re.compile("There was 1 prefill and then 9 decodes"))


def test_the_locked_link_shows_no_controls_and_the_keys_still_turn(page, app):
    visit(page, f"{app.url}{LESSON}?present=1&lock=1")
    on_slide(page, 1)
    expect(page.locator(".fb-score-canvas")).to_be_visible()
    page.wait_for_timeout(500)
    for control in (
        page.get_by_role("textbox"),
        page.get_by_role("button", name="Next"),
        page.get_by_role("spinbutton"),
    ):
        expect(control.locator("visible=true")).to_have_count(0)
    page.keyboard.press("PageDown")
    on_slide(page, 2)
    says(page, "10 passes")


def test_the_speaker_s_window_follows_and_moves_the_stage_and_the_stage_shows_no_notes(stage, app):
    expect(stage.get_by_text("by a show of hands")).to_have_count(0)
    notes = stage.context.new_page()
    notes.set_default_timeout(60_000)
    visit(notes, f"{app.url}{LESSON}?present=notes")
    says(notes, re.compile("by a show of hands"))
    says(notes, re.compile("Right: 10 passes"))
    expect(notes.get_by_text(f"1 of {ALL}: Why does the answer trickle").first).to_be_visible()
    notes.get_by_role("button", name="Next").click()
    on_slide(stage, 2)
    expect(notes.get_by_text(f"2 of {ALL}: What happened").first).to_be_visible()
    notes.keyboard.press("b")
    expect(stage.get_by_text("There was 1 prefill").first).to_be_hidden()


def test_nothing_moves_under_reduced_motion_and_axe_finds_nothing(browser, app):
    context = browser.new_context(reduced_motion="reduce", color_scheme="dark")
    page = context.new_page()
    page.set_default_timeout(60_000)
    visit(page, f"{app.url}{LESSON}?present=1")
    page.get_by_role("group", name="Presenting").wait_for()
    still = (
        "[...document.querySelectorAll('*')].map((one) => one.shadowRoot?.querySelector('.bar')).filter(Boolean)"
        ".every((bar) => getComputedStyle(bar).transitionDuration === '0s' && bar.getAnimations().length === 0)"
    )
    assert page.evaluate(still)
    found = faults(page)
    assert not found, "\n".join(found)
    context.close()


def test_the_screens_of_the_test_are_those_of_the_lesson():
    assert len(slides_of([[block] for block in lessons()[0].blocks])) == ALL
