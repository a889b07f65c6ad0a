"""A class in real browsers: a teacher at the projector, two learners on phones, two votes, and the run that answers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.site.conftest import settled
from tests.browser.site.test_for_everyone import faults
from tests.browser.site.visitor import LESSON, ask, says, visit

PHONE = {"width": 390, "height": 844}


@pytest.fixture
def person(browser: Browser) -> Callable[..., Page]:
    """A new person with a browser of their own."""
    contexts = []

    def come(theme: str = "light", size: dict[str, int] | None = None) -> Page:
        context = browser.new_context(color_scheme=theme, viewport=size or {"width": 1280, "height": 900})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(60_000)
        return page

    yield come
    for context in contexts:
        context.close()


def press(page: Page, label: str) -> None:
    page.get_by_role("button", name=label, exact=True).click()
    settled(page)


def vote(page: Page, passes: int) -> None:
    page.get_by_role("spinbutton", name="Your guess").fill(str(passes))
    page.get_by_role("button", name="Vote", exact=True).click()


def fits(page: Page) -> bool:
    return page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth - innerWidth") <= 0


def test_a_class_votes_talks_votes_again_and_sees_the_run_that_answers(person, app):
    host = person("dark")
    visit(host, f"{app.url}/classroom")
    press(host, "Start a class")
    code = host.get_by_test_id("stMetricValue").first.inner_text().replace(" ", "")

    first, second = person("light", PHONE), person("dark", PHONE)
    visit(first, f"{app.url}/classroom?class={code}")
    visit(second, f"{app.url}/classroom")
    second.get_by_role("textbox", name="Class code").fill(f"{code[:3].lower()}-{code[3:].lower()}")
    for phone in (first, second):
        assert not faults(phone) and fits(phone)
        press(phone, "Join the class")
        says(phone, re.compile("You sit in class"))
        assert fits(phone)
        visit(phone, app.url + LESSON)
    says(host, "2 learners")
    assert not faults(host)

    stage = host.context.new_page()
    stage.set_default_timeout(60_000)
    visit(stage, f"{app.url}{LESSON}?present=1&class={code}")
    ask(first, "The dog ran")
    says(first, "Your prompt runs when the answer is out.")
    vote(first, 11)
    says(stage, "1 of 2")
    vote(second, 10)
    says(stage, "2 of 2")
    expect(stage.locator(".js-plotly-plot")).to_have_count(0)
    expect(stage.get_by_text("11 passes")).to_have_count(0)
    stage.keyboard.press("PageDown")
    says(stage, "Everybody for themselves.")
    expect(stage.get_by_text("There was 1 prefill")).to_have_count(0)
    stage.keyboard.press("PageUp")
    press(stage, "Close the vote")
    says(first, re.compile("Tell your neighbour what you chose"))
    press(stage, "Open the second vote")
    says(first, "Second vote")
    vote(first, 10)
    says(first, re.compile("Your second vote"))
    second.get_by_role("button", name="Keep my first vote").click()
    says(second, re.compile("Your second vote"))
    expect(first.get_by_text("What happened", exact=True)).to_have_count(0)
    press(stage, "Close the second vote")
    chart = stage.get_by_label("Votes of the class. 10 passes: 1 in the first vote, 2 in the second; "
                               "11 passes: 1 in the first vote, 0 in the second.")  # fmt: skip
    expect(chart.first).to_be_visible()
    says(stage, "Of 2 who voted twice, 1 changed the answer.")

    press(stage, "Reveal: run it")
    stage.wait_for_function("window.__flipbook?.isOver === true && location.search.includes('run=')")
    settled(stage)
    stage.keyboard.press("PageDown")
    says(stage, "Right in the first vote: 1 of 2; in the second: 2 of 2.")
    assert not faults(stage)
    for phone in (first, second):
        phone.wait_for_function("location.search.includes('run=')")
        says(phone, "You had it.")
    says(first, re.compile("The dog ran"))

    host.reload()
    with host.expect_download() as download:
        host.get_by_role("button", name="Save the class as a workload").click()
    recorded = json.loads(download.value.path().read_text())
    assert len(recorded["requests"]) == 2 and "The dog ran" not in json.dumps(recorded)
    host.get_by_role("button", name="End the class").click()
    press(host, "End it now")
    third = person("light", PHONE)
    visit(third, f"{app.url}/classroom?class={code}")
    press(third, "Join the class")
    says(third, re.compile("has ended"))
