"""Recordings and Compare in a real browser: a file goes out and comes in again, and nothing in one is ever run."""

from __future__ import annotations

from playwright.sync_api import expect

from engine.account.record_file import dumps, loads
from lessons import catalogue
from tests.browser.site.test_for_everyone import faults_light_and_dark
from tests.browser.site.visitor import says, visit
from tests.lessons.story_run import story_run

EXAMPLES = "a=example.story-cached&b=example.story-recomputed"
HOSTILE = ["<img src=x onerror=window.hit=1>", "<script>window.hit=1</script>", " :red[x] $a$", "\u202e"]


def test_axe_finds_nothing_of_ours_and_two_runs_move_on_one_clock(page, app):
    for path in ("/recordings?run=example.story-cached", f"/compare?{EXAMPLES}"):
        page.emulate_media(color_scheme="light")
        visit(page, app.url + path)
        page.wait_for_function("window.__flipbook?.isOver === true")
        found = faults_light_and_dark(page)
        assert not found, path + "\n" + "\n".join(found)
    # After 9 ms the first run has long begun to write, the second still reads.
    page.get_by_role("group", name="Flipbook of one request").first.focus()
    page.keyboard.press("End")
    scrubs = page.get_by_role("slider", name="Pass")
    expect(scrubs.first).to_have_value("23")
    expect(scrubs.nth(1)).to_have_value(str(step_at(catalogue.recording("story-cached").passes[-1].end_ns)))
    page.keyboard.press(" ")
    expect(page.get_by_role("button", name="Pause")).to_have_count(2)


def step_at(ns: int) -> int:
    """The pass of the second run that was under way then."""
    return max(one.number for one in catalogue.recording("story-recomputed").passes if one.start_ns <= ns)


def test_a_saved_file_opens_again_and_one_that_is_hostile_is_only_text(page, app):
    visit(page, f"{app.url}/recordings?run=example.story-cached")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save as a file").click()
    assert loads(saved.value.path().read_bytes()) == catalogue.recording("story-cached")
    box = page.locator("input[type=file]")
    box.set_input_files({"name": "cut.json", "mimeType": "application/json", "buffer": dumps(story_run())[:700]})
    says(page, "This file cannot be shown. The record is cut off")
    hostile = dumps(story_run(prompt=HOSTILE, reply=HOSTILE))
    visit(page, f"{app.url}/recordings")
    box.set_input_files({"name": "hostile.json", "mimeType": "application/json", "buffer": hostile})
    says(page, "recorded elsewhere")
    expect(page.get_by_role("heading", name=HOSTILE[0])).to_be_visible()
    page.wait_for_function("window.__flipbook?.isOver === true")
    page.keyboard.press("End")
    assert page.evaluate("window.hit") is None and page.locator("img[src=x]").count() == 0
    page.get_by_role("link", name="Compare it").click()
    expect(page.get_by_role("combobox").first).to_be_visible()
    says(page, "Choose two runs")
