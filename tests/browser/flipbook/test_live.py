"""A live run: a second cursor, connections that are cut, runs that end well or badly."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.flipbook.look import at_rest, block, lit, live, reports, send
from tests.browser.flipbook.page import mount
from tests.browser.flipbook.runs import run_of, saved, story


def test_a_live_run_asks_for_its_log_under_the_base_path(page):
    mount(page, run_id="ab" * 16, base_path="/class")
    page.wait_for_function("sockets.length === 1")
    assert re.fullmatch(r"ws://127\.0\.0\.1:\d+/class/twospeeds/runs/(ab){16}\?from=0", page.evaluate("sockets[0].url"))


def test_a_fast_engine_is_watched_slowly_with_a_second_cursor_ahead(page):
    live(page, 9)
    page.wait_for_function("__flipbook.step === 0 && __flipbook.engine === 6 && __flipbook.progress > 0.2")
    expect(page.locator(".fb-status")).to_have_text("slowed, engine at pass 7")
    page.get_by_role("button", name="Back to live").click()
    page.wait_for_function("__flipbook.step === 6 && __flipbook.engine === null")
    assert lit(page, "decode") == block([13])


def test_following_shows_new_passes_as_they_come_and_the_end_is_told_once(page):
    events = live(page, 5)
    page.get_by_role("button", name="Back to live").click()
    send(page, {"from": 5, "events": events[5:8]})
    page.wait_for_function("__flipbook.step === 5")
    send(page, {"from": 8, "events": events[8:]})
    send(page, {"end": True, "n": len(events)})
    at_rest(page, 9)
    assert page.evaluate("sockets[0].isClosed") is True
    assert reports(page, "ended") == ["ab" * 16]


def test_another_run_takes_the_place_and_nothing_of_the_one_before_stays(page):
    before = saved(story(40))
    before["events"][0]["run_id"] = "cd" * 16
    mount(page, recording=before, at=30)
    at_rest(page, 30)
    page.get_by_role("button", name="Table of the passes").click()
    place, cell = page.locator(".fb-score-canvas").bounding_box(), page.evaluate("__flipbook.cell(0, 40)")
    page.mouse.move(place["x"] + cell["x"], place["y"] + cell["y"])
    events = live(page, 9)
    assert page.evaluate("__flipbook.step") == 0
    page.get_by_role("button", name="Back to live").click()
    send(page, {"from": 9, "events": events[9:]})
    send(page, {"end": True, "n": len(events)})
    at_rest(page, 9)
    expect(page.get_by_role("table").get_by_role("row")).to_have_count(1 + 10)
    page.wait_for_timeout(350)
    assert {told["run_id"] for told in reports(page, "settled")} <= {"ab" * 16}
    assert reports(page, "ended") == ["ab" * 16]


def test_scrubbing_back_is_not_undone_by_what_arrives(page):
    events = live(page, 9)
    page.locator(".fb-scrub").fill("2")
    at_rest(page, 2)
    send(page, {"from": 9, "events": events[9:11]})
    page.wait_for_function("__flipbook.engine === 8")
    assert page.evaluate("__flipbook.step") == 2
    assert lit(page, "decode") == block([9])


def test_a_cut_connection_resumes_without_gap_or_duplicate(page):
    events = live(page, 6)
    page.evaluate("sockets[0].drop()")
    expect(page.locator(".fb-note")).to_have_text("Connection lost, trying again. What has arrived stays here.")
    page.wait_for_function("sockets.length === 2")
    assert page.evaluate("sockets[1].url").endswith("?from=6")
    send(page, {"from": 4, "events": events[4:9]}, socket=1)
    expect(page.locator(".fb-note")).to_be_hidden()
    send(page, {"from": 10, "events": events[10:]}, socket=1)
    page.wait_for_function("sockets.length === 3")
    assert page.evaluate("sockets[2].url").endswith("?from=9"), "a gap is asked for again, not drawn over"
    send(page, {"from": 9, "events": events[9:]}, socket=2)
    send(page, {"end": True, "n": len(events)}, socket=2)
    assert page.evaluate("[__flipbook.events, __flipbook.passes]") == [len(events), 10]
    page.get_by_role("button", name="Last pass").click()
    expect(page.locator(".fb-text")).to_have_text("Once upon a time, there was a w0 w1 w2 w3 w4 w5 w6 w7 w8 w9")


def test_leaving_closes_the_socket_for_good(page):
    live(page, 4)
    page.evaluate("flipbook.destroy(document.getElementById('host').shadowRoot)")
    assert page.evaluate("sockets[0].isClosed") is True
    page.wait_for_timeout(700)
    assert page.evaluate("sockets.length") == 1


def test_another_run_takes_the_place_of_the_first(page):
    live(page, 4)
    mount(page, recording=saved(run_of(["x"], [" y", " z"])) | {"schema": "twospeeds.run/1"}, run_id=None)
    # The recording has the same id here, so it completes what was live.
    assert page.evaluate("sockets.length") == 1
    other = story()
    changed = saved(other)
    changed["events"][0]["run_id"] = "cd" * 16
    mount(page, recording=changed, at=0)
    at_rest(page, 0)
    assert page.evaluate("sockets[0].isClosed") is True
    assert page.evaluate("__flipbook.passes") == 10
