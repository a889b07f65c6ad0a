"""The main job in a real browser: type a prompt, see one prefill and then the decodes, scrub back, read on."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import PATIENCE_MS
from tests.browser.site.visitor import (
    LESSON,
    ask,
    at_rest,
    card_value,
    guess,
    hold_the_picture,
    lit_columns,
    says,
    visit,
    wait_for_end,
)

PROMPT = "Once upon a time, there was a"
P = 8


@pytest.fixture(scope="module")
def address(one_context, app):
    """Where the page is after the guess and the run: whoever opens it finds both, so one walk serves all tests."""
    page = one_context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    visit(page, app.url + LESSON)
    ask(page, PROMPT)
    guess(page, 11)
    wait_for_end(page)
    return page.url.split("&at=")[0]


@pytest.fixture
def after_the_run(address, page):
    visit(page, address)
    page.wait_for_function("window.__flipbook?.events > 0")
    wait_for_end(page)
    return page


def every_layer(columns) -> list[set[int]]:
    return [set(columns)] * 8


def test_the_prefill_lights_all_prompt_columns_at_once_and_each_decode_one(after_the_run):
    page = after_the_run
    hold_the_picture(page)
    assert lit_columns(page, "prefill", 18) == every_layer(range(P))
    assert lit_columns(page, "decode", 18) == every_layer(())
    for step in range(1, 4):
        page.keyboard.press("ArrowRight")
        at_rest(page, step)
        assert lit_columns(page, "decode", 18) == every_layer({P + step - 1})
        assert lit_columns(page, "prefill", 18) == every_layer(())


def test_scrubbing_back_by_keyboard_changes_the_picture_and_asks_the_server_for_nothing(after_the_run):
    page = after_the_run
    hold_the_picture(page)
    page.keyboard.press("End")
    at_rest(page, 9)
    assert lit_columns(page, "decode", 18) == every_layer({P + 8})
    sent: list[str] = []
    page.on("websocket", lambda socket: sent.append(socket.url))
    page.keyboard.press("Shift+ArrowLeft")
    at_rest(page, 0)
    assert lit_columns(page, "prefill", 18) == every_layer(range(P))
    assert sent == []


def test_the_guess_stands_beside_what_the_engine_did_and_the_belief_behind_it_is_answered(after_the_run):
    page = after_the_run
    expect(card_value(page, "You said")).to_have_text("11 passes")
    expect(card_value(page, "The model ran")).to_have_text("10 passes")
    says(page, "“The prefill comes on top”")
    says(page, re.compile("There was 1 prefill and then 9 decodes"))


def test_nothing_tells_the_answer_before_the_guess(page, app):
    visit(page, app.url + LESSON)
    page.wait_for_function("window.__flipbook !== undefined")
    assert page.evaluate("__flipbook.passes") is None
    text = page.locator("[data-testid=stMain]").inner_text()
    assert "10 passes" not in text and "9 decode" not in text


def test_a_reload_finds_run_and_guess_again_and_runs_nothing_anew(address, page):
    visit(page, address)
    page.reload()
    page.wait_for_function("window.__flipbook?.events > 0")
    wait_for_end(page)
    assert page.url.split("&at=")[0] == address
    hold_the_picture(page)
    assert lit_columns(page, "prefill", 18) == every_layer(range(P))
    expect(card_value(page, "You said")).to_have_text("11 passes")


def test_the_check_question_tells_right_from_wrong(after_the_run):
    page = after_the_run
    answer = page.get_by_role("spinbutton", name="Your answer")
    answer.fill("25")
    page.get_by_role("button", name="Check").click()
    says(page, re.compile("Not this number"))
    answer.fill("24")
    page.get_by_role("button", name="Check").click()
    says(page, re.compile("The first of the new tokens came out of the prefill"))


def test_the_state_of_a_head_comes_from_a_second_labelled_pass(after_the_run):
    page = after_the_run
    page.get_by_role("button", name="Run it again with instruments").click()
    says(page, "instrumented second pass")
    expect(page.locator(".js-plotly-plot").nth(2)).to_be_visible()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_on_a_phone_everything_fits_and_the_picture_has_the_theme_s_colours(browser, app, theme):
    context = browser.new_context(viewport={"width": 390, "height": 844}, color_scheme=theme)
    page = context.new_page()
    visit(page, app.url + LESSON)
    ask(page, PROMPT)
    guess(page, 10)
    wait_for_end(page)
    hold_the_picture(page)
    assert lit_columns(page, "prefill", P, theme) == every_layer(range(P))
    overflow = "document.querySelector('[data-testid=stMain]').scrollWidth - innerWidth"
    assert page.evaluate(overflow) <= 0
    context.close()
