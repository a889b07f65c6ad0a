"""Runs that were served in another way: guesses that a pass checks, and everything computed again in each pass."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.flipbook.look import ATTENTION, at_rest, block, colours, lit, near
from tests.browser.flipbook.page import mount
from tests.browser.flipbook.runs import drafted, recomputed, saved
from views.palette import COLOURS

GUESSING = 3
"""The pass that checks guesses: it takes in column 10 and guesses for 11 to 14."""


def test_a_pass_that_checks_guesses_lights_its_token_and_the_right_ones_when_it_is_over(page):
    mount(page, recording=saved(drafted()), at=GUESSING)
    at_rest(page)
    assert lit(page, "decode") == block([10, 11, 12])
    assert lit(page, "prefill") == set()


def test_while_it_runs_every_guess_is_lit_since_nobody_knows_yet_which_are_right(page):
    mount(page, recording=saved(drafted()), at=GUESSING - 1)
    at_rest(page)
    seen = page.evaluate(
        """async () => {
          const canvas = document.getElementById("host").shadowRoot.querySelector(".fb-score-canvas");
          const root = document.getElementById("host").shadowRoot.querySelector(".fb");
          root.focus();
          root.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
          const most = [];
          do {
            await new Promise(requestAnimationFrame);
            if (__flipbook.step !== 3 || __flipbook.progress >= 1) continue;
            const context = canvas.getContext("2d");
            most.push([10, 11, 12, 13, 14].filter((position) => {
              const { x, y } = __flipbook.cell(0, position);
              const [r, g, b] = context.getImageData(Math.round(x), Math.round(y), 1, 1).data;
              return r > 180 && g < 90 && b < 60;
            }).length);
          } while (__flipbook.step !== 3 || __flipbook.progress < 1);
          return Math.max(...most);
        }"""
    )
    assert seen == 5


def test_a_wrong_guess_leaves_no_chip_and_the_next_pass_begins_in_its_column(page):
    mount(page, recording=saved(drafted()), at=GUESSING + 1)
    at_rest(page)
    assert lit(page, "decode") == block([13])
    kept = colours(page, [(layer, position) for layer in ATTENTION for position in range(13)], "chipY")
    assert all(near(colour, COLOURS["light"]["kv"]) for colour in kept)
    beyond = colours(page, [(layer, 14) for layer in ATTENTION], "chipY")
    assert not any(near(colour, COLOURS["light"]["kv"]) for colour in beyond)


def test_the_words_say_how_many_guesses_there_were_and_how_many_were_right(page):
    mount(page, recording=saved(drafted()), at=GUESSING)
    at_rest(page)
    expect(page.locator(".fb-title")).to_have_text("Decode: 5 tokens in, 3 out")
    expect(page.locator(".fb-sub")).to_contain_text("The last 4 are guesses, checked here: 2 right.")


def test_the_table_tells_a_guess_as_it_went_in(page):
    mount(page, recording=saved(drafted()), at=GUESSING)
    at_rest(page)
    page.get_by_role("button", name="Table of the passes").click()
    row = page.get_by_role("row").nth(GUESSING + 1)
    expect(row).to_contain_text("5 tokens: ·w2 ·w3 ·w4 Once Once")


def test_a_recomputed_run_lights_every_column_so_far_in_each_pass(page):
    mount(page, recording=saved(recomputed()), at=0)
    at_rest(page)
    assert lit(page, "prefill") == block(range(8))
    for step in (1, 5, 9):
        page.locator(".fb-scrub").fill(str(step))
        at_rest(page, step)
        assert lit(page, "decode") == block(range(8 + step))


def test_a_recomputed_run_says_that_nothing_is_kept_and_shows_no_chip_and_no_state(page):
    mount(page, recording=saved(recomputed()), at=4)
    at_rest(page)
    expect(page.locator(".fb-sub")).to_contain_text("Nothing is kept: the next pass begins at the first token again.")
    chips = colours(page, [(layer, position) for layer in ATTENTION for position in range(12)], "chipY")
    assert all(near(colour, COLOURS["light"]["decode"]) for colour in chips)
    expect(page.locator(".fb")).not_to_contain_text("NaN")
