"""Bad input and bad luck: a clear message where the person looks, and nothing of theirs lost."""

import os
import re
import signal

import psutil
import pytest
from playwright.sync_api import expect

from tests.browser.site.conftest import settled
from tests.browser.site.visitor import LESSON, ask, guess, run_in_lab, says, visit, wait_for_end


@pytest.mark.parametrize(
    ("prompt", "message"),
    [
        ("", re.compile("empty", re.IGNORECASE)),
        ("word " * 3_000, re.compile("too long|at most|no more than", re.IGNORECASE)),
    ],
)
def test_a_prompt_that_cannot_run_is_explained_beside_the_box_and_kept(page, app, prompt, message):
    visit(page, app.url + "/lab")
    page.get_by_role("textbox", name="Prompt").fill(prompt)
    page.get_by_role("button", name="Run it").click()
    settled(page)
    expect(page.get_by_role("alert").filter(has_text=message)).to_be_visible()
    assert page.get_by_role("textbox", name="Prompt").input_value() == prompt


def test_html_in_a_prompt_is_shown_and_never_interpreted(page, app):
    hostile = '<img src=x onerror="window.hacked=1"><b>bold</b> **x** $y$ :red[z]'
    visit(page, app.url + LESSON)
    ask(page, hostile)
    guess(page, 10)
    wait_for_end(page)
    assert page.evaluate("window.hacked") is None
    main = page.locator("[data-testid=stMain]")
    expect(main.locator("img[src=x]")).to_have_count(0)
    expect(main.get_by_text("<b>", exact=False).first).to_be_visible()


def test_text_that_the_model_never_read_runs_and_is_pointed_out(page, app):
    visit(page, app.url + "/lab")
    run_in_lab(page, "Il était une fois 🦊", 12)
    wait_for_end(page)
    says(page, re.compile("ASCII"))


def test_stop_pressed_at_once_ends_the_run_and_keeps_what_was_written(page, app):
    visit(page, app.url + "/lab")
    page.get_by_text("Stop at end of text").click()
    run_in_lab(page, "Once upon a time", 1_500)
    stop = page.get_by_role("button", name="Stop Shortcut Esc")
    stop.click()
    page.wait_for_function("__flipbook.isOver")
    says(page, re.compile("stopped", re.IGNORECASE))
    assert 0 < page.evaluate("__flipbook.passes") < 1_500
    expect(stop).to_be_disabled()
    run_in_lab(page, "The sun", 5)
    wait_for_end(page)
    assert page.evaluate("__flipbook.passes") == 5, "the form is as it was"


def test_an_answer_opens_when_the_run_has_ended_though_no_picture_says_so(page, app):
    """Lesson 7 has none before its answer; where the run outlasted the page's next drawing, it waited for ever."""
    visit(page, app.url + "/sharing-a-read?new=400")
    ask(page, "Once upon a time")
    page.get_by_role("spinbutton", name="Your guess").fill("2")
    page.get_by_role("button", name="Guess and run").click()
    expect(page.get_by_text("You said", exact=True)).to_be_visible()


def test_two_tabs_at_once_each_get_their_own_story(page, context, app):
    other = context.new_page()
    for tab, prompt in ((page, "The cat"), (other, "A big dog")):
        visit(tab, app.url + "/lab")
        run_in_lab(tab, prompt, 20)
    for tab, prompt in ((page, "The cat"), (other, "A big dog")):
        wait_for_end(tab)
        expect(tab.get_by_role("note")).to_contain_text(prompt)


def test_an_engine_killed_in_mid_run_is_told_in_place_and_the_next_run_works(page, own_app):
    visit(page, own_app.url + "/lab")
    page.get_by_text("Stop at end of text").click()
    run_in_lab(page, "Once upon a time", 1_900)
    page.wait_for_function("__flipbook.passes > 3")
    os.kill(engine_of(own_app).pid, signal.SIGKILL)
    says(page, re.compile("engine (stopped|was lost|ended)", re.IGNORECASE))
    assert page.evaluate("__flipbook.passes") > 3
    own_app.wait_until("/twospeeds/health", lambda answer: answer.json()["status"] == "ready", 120)
    run_in_lab(page, "The sun", 5)
    page.wait_for_function("__flipbook.isOver && __flipbook.passes === 5")


def test_a_link_carries_settings_and_survives_a_switch_of_pages(page, app):
    visit(page, app.url + "/lab?prompt=The+bird&new=7&temperature=0.5&top_k=9&seed=42")
    expect(page.get_by_role("textbox", name="Prompt")).to_have_value("The bird")
    expect(page.get_by_role("spinbutton", name="New tokens")).to_have_value("7")
    expect(page.get_by_role("spinbutton", name="Seed")).to_have_value("42")
    page.get_by_role("link", name="Method").click()
    settled(page)
    page.get_by_role("link", name="Lab").click()
    settled(page)
    expect(page.get_by_role("textbox", name="Prompt")).to_have_value("The bird")
    expect(page.get_by_role("spinbutton", name="Seed")).to_have_value("42")


def test_an_absurd_link_gets_a_message_and_defaults(page, app):
    visit(page, app.url + "/lab?temperature=banana&new=-5")
    expect(page.get_by_role("alert").first).to_be_visible()
    assert float(page.get_by_role("spinbutton", name="Temperature").input_value()) >= 0


def engine_of(app) -> psutil.Process:
    """The engine process that an app started."""
    children = psutil.Process(app.process.pid).children(recursive=True)
    return next(child for child in children if "serve" in child.cmdline())
