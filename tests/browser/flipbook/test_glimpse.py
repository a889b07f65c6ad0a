"""Before a question is answered a recording may play: it moves, can be stopped, and tells nothing that is asked."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.flipbook.page import mount
from tests.browser.flipbook.runs import saved, story

HIDDEN = [".fb-time", ".fb-side", ".fb-track", ".fb-pass", ".fb-options", ".fb-table"]


def test_it_plays_by_itself_over_and_over(page):
    mount(page, recording=saved(story()), reveal="motion")
    assert page.evaluate("__flipbook.stage") == "glimpse"
    page.wait_for_function("__flipbook.step >= 2")
    page.wait_for_function(f"__flipbook.step === {len(story().passes) - 1} && __flipbook.motion === 'rest'")
    page.wait_for_function("__flipbook.step === 0 && __flipbook.motion === 'play'")


def test_nothing_counts_or_names_a_pass_in_sight_or_aloud(page):
    mount(page, recording=saved(story()), reveal="motion")
    page.wait_for_function("__flipbook.step >= 2")
    for part in HIDDEN:
        expect(page.locator(part)).to_be_hidden()
    seen = page.locator(".fb").inner_text() + page.locator(".fb-score-canvas").get_attribute("aria-label")
    assert "pass" not in seen.lower() and "decode" not in seen.lower() and "prefill" not in seen.lower()


def test_what_moves_by_itself_can_be_stopped_and_reports_nothing(page):
    mount(page, recording=saved(story()), reveal="motion")
    page.wait_for_function("__flipbook.step >= 1")
    page.get_by_role("button", name="Pause").click()
    stopped = page.evaluate("__flipbook.step")
    page.wait_for_timeout(1200)
    assert page.evaluate("__flipbook.step") == stopped
    page.keyboard.press("End")
    page.keyboard.press("t")
    assert page.evaluate("__flipbook.step") == stopped and page.evaluate("reports") == []


def test_answered_it_becomes_the_whole_picture_from_the_first_pass_on(page):
    run = saved(story())
    mount(page, recording=run, reveal="motion")
    page.wait_for_function("__flipbook.step >= 2")
    mount(page, recording=run, reveal=True)
    page.wait_for_function("__flipbook.stage === 'passes' && __flipbook.motion === 'rest'")
    assert page.evaluate("__flipbook.step") == 0
    expect(page.locator(".fb-pass-name")).to_contain_text(f"of {len(story().passes)}")


@pytest.mark.parametrize("reduced", ["reduce"])
def test_it_stands_still_for_whoever_asks_for_less_motion(page, reduced):
    page.emulate_media(reduced_motion=reduced)
    mount(page, recording=saved(story()), reveal="motion")
    page.wait_for_timeout(1500)
    assert page.evaluate("[__flipbook.step, __flipbook.motion]") == [0, "rest"]
