"""Answers in a real browser: the cookie comes with the page, another day finds the answers, a code moves them."""

import json
import re

from playwright.sync_api import Browser, Page, expect

from tests.browser.site.conftest import settled
from tests.browser.site.visitor import LESSON, ask, guess, says, visit, wait_for_end

COURSE = "/course"


def answer(page: Page, url: str) -> None:
    """Guess, run, and try the check once, wrongly."""
    visit(page, url + LESSON)
    ask(page, "Once upon a time, there was a")
    guess(page, 11)
    wait_for_end(page)
    page.get_by_role("spinbutton", name="Your answer").fill("25")
    page.get_by_role("button", name="Check").click()
    says(page, re.compile("Not this number"))


def code_of(page: Page) -> str:
    text = page.get_by_test_id("stCode").inner_text().strip()
    assert re.fullmatch(r"[a-z]+(-[a-z]+){4}", text)
    return text


def test_answers_outlive_the_page_move_by_a_code_can_be_taken_along_and_are_deleted(browser: Browser, app):
    first = browser.new_context(accept_downloads=True)
    page = first.new_page()
    page.set_default_timeout(60_000)
    answer(page, app.url)
    (cookie,) = [one for one in first.cookies() if one["name"] == "twospeeds-visitor"]
    assert cookie["httpOnly"] and cookie["sameSite"] == "Lax"
    run = re.search(r"run=([^&]+)", page.url)
    page.close()

    page = first.new_page()  # another day: a new page without a word in its address
    visit(page, app.url + LESSON)
    says(page, re.compile("Not this number"))
    visit(page, app.url + COURSE)
    says(page, re.compile("2 of 2 questions tried"))
    code = code_of(page)
    with page.expect_download() as download:
        page.get_by_role("button", name="All as JSON").click()
    work = json.loads(download.value.path().read_text())
    assert [(one["question"], one["answer"], one["right"]) for one in work["answers"]] == [
        ("passes", 11, None),
        ("decode-passes", 25, False),
    ]
    assert run and work["runs"][0]["events"][0]["run_id"] == run[1]

    second = browser.new_context()
    other = second.new_page()
    visit(other, app.url + COURSE)
    says(other, re.compile("not tried yet"))
    other.get_by_role("button", name="I have a code").click()
    other.get_by_role("textbox", name="Your code, five words").fill(code.replace("-", " "))
    other.get_by_role("button", name="Go on with it").click()
    says(other, "Your work is here again.")
    assert code_of(other) == code

    other.get_by_role("button", name="Delete my data").click()
    other.get_by_role("button", name="Delete all of it").click()
    says(other, re.compile("have been deleted"))
    visit(page, app.url + COURSE)
    says(page, re.compile("not tried yet"))
    visit(page, f"{app.url}{LESSON}?run={run[1]}")
    says(page, re.compile("not kept any more"))
    settled(page)
    expect(page.get_by_text("“The prefill comes on top”")).to_have_count(0)
    first.close()
    second.close()
