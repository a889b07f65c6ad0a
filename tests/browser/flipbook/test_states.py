"""Before there is something to see, while it is hidden, and when it fails."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.flipbook.look import PROMPT, at_rest, block, events_of, lit, live, send
from tests.browser.flipbook.page import mount
from tests.browser.flipbook.runs import MS, saved, story


def test_the_queue_is_shown_with_the_prompt(page):
    events = events_of(story())
    events[1]["ahead"] = 2
    mount(page, run_id="ab" * 16)
    send(page, {"from": 0, "events": events[:2]})
    expect(page.locator(".fb-title")).to_have_text("In the queue")
    expect(page.locator(".fb-sub")).to_have_text("2 requests before yours.")
    expect(page.locator(".fb-text")).to_have_text("Once upon a time, there was a")
    assert lit(page, "prefill", columns=PROMPT) == set()
    send(page, {"from": 2, "events": [{"event": "queued", "index": 2, "at_ns": 5, "ahead": 0}]})
    expect(page.locator(".fb-title")).to_have_text("Prefill is running")


def test_an_error_stands_in_place_and_keeps_what_was_computed(page):
    events = live(page, 6)
    error = {"event": "error", "index": 6, "code": "engine_lost", "message": "The engine stopped.", "at_ns": None}
    send(page, {"from": 6, "events": [error]})
    send(page, {"end": True, "n": 7})
    expect(page.locator(".fb-note")).to_have_text("The engine stopped. The 4 passes that were computed stay here.")
    at_rest(page, 3)
    assert lit(page, "decode", columns=range(11)) == block([10])
    assert len(events) > 6


def test_an_unknown_run_is_said_and_not_asked_for_again(page):
    mount(page, run_id="ab" * 16)
    send(page, {"error": {"code": "unknown_run", "message": "This run is not known here."}})
    expect(page.locator(".fb-note")).to_have_text("This run is not known here.")
    page.wait_for_timeout(700)
    assert page.evaluate("sockets.length") == 1


def test_a_stopped_run_says_so(page):
    events = live(page, 6)
    send(page, {"from": 6, "events": [{"event": "end", "index": 6, "reason": "cancelled", "at_ns": 25 * MS}]})
    expect(page.locator(".fb-note")).to_have_text("Stopped by you after 4 passes.")
    assert events


def test_without_a_run_there_is_an_invitation(page):
    mount(page)
    expect(page.locator(".fb-title")).to_have_text("No run yet")
    expect(page.locator(".fb-bar")).to_be_hidden()


def test_what_a_question_asks_stays_hidden_until_it_is_answered(page):
    run = saved(story())
    mount(page, recording=run, reveal=False)
    page.locator(".fb").focus()
    for key in ("t", "ArrowRight", "End", "Space"):
        page.keyboard.press(key)
    page.wait_for_timeout(700)
    expect(page.locator(".fb-title")).to_have_text("The run is recorded; your guess first")
    tree = page.locator("#host").aria_snapshot()
    assert "10" not in tree and "w0" not in tree and "decode" not in tree
    assert page.get_by_role("table").count() == 0
    assert page.evaluate("[__flipbook.passes, reports.length]") == [None, 0]
    assert lit(page, "prefill", columns=PROMPT) == set(), "the first frame is still"
    mount(page, recording=run, reveal=True)
    at_rest(page, 0)
    assert lit(page, "prefill") == block(PROMPT)
    expect(page.locator(".fb-pass-name")).to_have_text("Pass 1 of 10 · prefill")
