"""What moves the cursor, what moves with it, and what is told to Python."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.flipbook.look import at_rest, reports
from tests.browser.flipbook.page import mount
from tests.browser.flipbook.runs import saved, story


def test_keys_move_the_cursor_and_do_not_reach_the_page(page):
    mount(page, recording=saved(story(40)), at=0)
    at_rest(page)
    page.evaluate("window.leaked = []; document.addEventListener('keydown', (event) => leaked.push(event.key))")
    page.locator(".fb").focus()
    for key, step in [("ArrowRight", 1), ("Shift+ArrowRight", 11), ("ArrowLeft", 10), ("End", 39), ("Home", 0)]:
        page.keyboard.press(key)
        at_rest(page, step)
    page.keyboard.press("t")
    expect(page.get_by_role("table")).to_be_visible()
    page.keyboard.press("T")
    expect(page.get_by_role("table")).to_be_hidden()
    page.keyboard.press("Space")
    page.wait_for_function("__flipbook.motion === 'play'")
    page.keyboard.press("Space")
    page.wait_for_function("__flipbook.motion === 'rest'")
    page.keyboard.press("x")
    assert [key for key in page.evaluate("leaked") if key not in ("x", "Shift")] == []


def test_one_cursor_moves_caption_memory_odds_time_and_table(page):
    mount(page, recording=saved(story()), at=0)
    page.get_by_role("button", name="Table of the passes").click()
    pictures = set()
    for step in range(4):
        page.locator(".fb-scrub").fill(str(step))
        at_rest(page, step)
        expect(page.locator(".fb-pass-name")).to_have_text(re.compile(f"^Pass {step + 1} of 10 · "))
        expect(page.locator(".fb-readout-kv .fb-value")).to_have_text(f"{8 + step} KiB")
        expect(page.locator(".fb-readout-state .fb-value")).to_have_text("24 KiB")
        expect(page.locator(".fb-odds .fb-panel-title")).to_have_text(f"Odds from pass {step + 1}")
        expect(page.locator(".fb-bar-chosen .fb-bar-token")).to_have_text(f"·w{step}")
        expect(page.locator("tr[aria-current] th")).to_have_text(str(step + 1))
        pictures.add(page.locator(".fb-time-canvas").screenshot() + page.locator(".fb-memory-canvas").screenshot())
    assert len(pictures) == 4, "time axis and memory plot change with every step"


def test_the_settled_step_is_told_once(page):
    mount(page, recording=saved(story(40)), at=0)
    at_rest(page)
    page.wait_for_timeout(400)
    assert page.evaluate("window.reports") == [], "nothing is told on mounting"
    # All in one go: between presses of its own a busy machine left time enough for a step to settle.
    page.locator(".fb").evaluate(
        "(one) => { for (let i = 0; i < 12; i++) one.dispatchEvent("
        "new KeyboardEvent('keydown', { key: 'ArrowRight', bubbles: true, composed: true })) }"
    )
    at_rest(page, 12)
    page.wait_for_timeout(400)
    assert page.evaluate("window.reports") == [["settled", {"run_id": story().header.run_id, "step": 12}]]


def test_our_own_report_coming_back_late_moves_nothing_but_python_can(page):
    run = saved(story(20))
    mount(page, recording=run, at=0)
    at_rest(page)
    page.locator(".fb-scrub").fill("5")
    page.wait_for_timeout(350)
    page.locator(".fb-scrub").fill("9")
    assert [told["step"] for told in reports(page, "settled")] == [5]
    mount(page, recording=run, at=5)
    at_rest(page, 9)
    mount(page, recording=run, at=2)
    at_rest(page, 2)


def test_calling_again_with_the_same_settings_changes_nothing(page):
    run = saved(story())
    for _ in range(4):
        mount(page, recording=run, at=3)
    at_rest(page, 3)
    page.locator(".fb").focus()
    page.keyboard.press("ArrowRight")
    at_rest(page, 4)
    assert page.locator(".fb-score-canvas").count() == 1


def test_playing_goes_through_the_passes_at_the_stated_speed_and_stops_at_the_end(page):
    mount(page, recording=saved(story()), at=0)
    at_rest(page)
    speed = page.get_by_role("combobox", name="Playing speed")
    expect(speed).to_have_value("slow100")
    speed.select_option("slow10")
    # Looked for in the page, frame by frame: half a second of playing was over before a busy machine asked for it.
    page.evaluate(
        """() => {
          window.sawPause = false;
          const look = () => {
            sawPause ||= document.getElementById("host").shadowRoot.querySelector("[aria-label='Pause']") !== null;
            requestAnimationFrame(look);
          };
          look();
        }"""
    )
    page.get_by_role("button", name="Play").click()
    page.wait_for_function("__flipbook.step === 9 && __flipbook.motion === 'rest' && sawPause")
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    page.wait_for_timeout(350)
    assert reports(page, "settled")[-1]["step"] == 9


def test_reduced_motion_shows_every_pass_whole(page):
    page.emulate_media(reduced_motion="reduce")
    mount(page, recording=saved(story()), at=0)
    page.locator(".fb").focus()
    page.evaluate(
        """() => {
          window.seen = [];
          const look = () => {
            seen.push(__flipbook.progress);
            requestAnimationFrame(look);
          };
          look();
        }"""
    )
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    at_rest(page, 2)
    assert set(page.evaluate("seen")) == {1}
    expect(page.get_by_role("combobox", name="Playing speed")).to_have_value("even")


def test_a_click_on_the_picture_goes_to_the_pass_that_computed_it(page):
    mount(page, recording=saved(story()), at=0)
    at_rest(page)
    cell = page.evaluate("__flipbook.cell(2, 13)")
    page.locator(".fb-score-canvas").click(position={"x": cell["x"], "y": cell["y"]})
    at_rest(page, 6)
    page.locator(".fb-time-canvas").click(position={"x": 12, "y": 20})
    at_rest(page, 0)
