"""What the flipbook draws, by the colours on its canvas."""

from __future__ import annotations

import itertools

from playwright.sync_api import expect

from tests.browser.flipbook.look import ATTENTION, DELTA, PROMPT, at_rest, block, colours, lit, near
from tests.browser.flipbook.page import mount
from tests.browser.flipbook.runs import run_of, saved, story
from views.palette import COLOURS


def test_prefill_lights_all_prompt_columns_in_every_layer_and_nothing_else(page):
    mount(page, recording=saved(story()), at=0)
    at_rest(page)
    assert lit(page, "prefill") == block(PROMPT)
    assert lit(page, "decode") == set()


def test_a_decode_pass_lights_one_column(page):
    mount(page, recording=saved(story()), at=4)
    at_rest(page)
    assert lit(page, "decode") == block([11])
    assert lit(page, "prefill") == set()


def test_attention_rows_keep_a_chip_for_each_earlier_token_and_deltanet_rows_keep_none(page):
    mount(page, recording=saved(story()), at=4)
    at_rest(page)
    kept = colours(page, [(layer, position) for layer in ATTENTION for position in range(11)], "chipY")
    assert all(near(colour, COLOURS["light"]["kv"]) for colour in kept)
    to_come = colours(page, [(layer, position) for layer in ATTENTION for position in range(12, 17)], "chipY")
    assert not any(near(colour, COLOURS["light"]["kv"]) for colour in to_come)
    beads = colours(page, [(layer, position) for layer in DELTA for position in range(11)])
    assert set(beads) == {"#ffffff"}, "a bead that has passed is empty"


def test_the_prefill_sweep_lights_layer_after_layer_all_columns_of_a_layer_together(page):
    mount(page, recording=saved(story()))
    seen = page.evaluate(
        """async () => {
          const canvas = document.getElementById("host").shadowRoot.querySelector(".fb-score-canvas");
          const shots = [];
          while (__flipbook.progress < 1) {
            await new Promise(requestAnimationFrame);
            const context = canvas.getContext("2d");
            shots.push([__flipbook.progress, [0, 1, 2, 4, 5, 6].map((layer) => [...Array(8).keys()].map((position) => {
              const { x, y } = __flipbook.cell(layer, position);
              const [r, g, b] = context.getImageData(Math.round(x), Math.round(y), 1, 1).data;
              return r < 60 && g < 120 && b > 200;
            }))]);
          }
          return shots;
        }"""
    )
    for _, layers in seen:
        rows = [all(row) for row in layers]
        assert all(any(row) == all(row) for row in layers), "all columns of a layer light together"
        assert rows == sorted(rows, reverse=True), "no layer before the one above it"
    counts = [sum(all(row) for row in layers) for _, layers in seen]
    assert any(0 < count < 6 for count in counts), "it is seen on the way"
    # The bright front itself can look like a lit row for the moment in which it crosses the beads' middle.
    assert all(later >= earlier - 1 for earlier, later in itertools.pairwise(counts))


def test_dark_theme_draws_in_the_dark_colours_and_follows_a_change(page):
    mount(page, theme="dark", recording=saved(story()), at=0)
    at_rest(page)
    assert lit(page, "prefill", "dark") == block(PROMPT)
    mount(page, theme="light", recording=saved(story()), at=0)
    page.wait_for_function("document.getElementById('host').shadowRoot.querySelector('.fb').dataset.theme === 'light'")
    at_rest(page)
    assert lit(page, "prefill", "light") == block(PROMPT)


def test_a_long_prompt_folds_and_unfolds(page):
    mount(page, recording=saved(run_of([f" p{i}" for i in range(300)], [" a", " b", " c"])), at=1)
    at_rest(page)
    assert colours(page, [(0, 0), (0, 300)]) != [None, None]
    unfold = page.get_by_role("button", name="Unfold: show every column")
    unfold.click()
    expect(page.get_by_role("button", name="Fold: fit the whole run in view")).to_be_visible()
    assert colours(page, [(0, 10)]) != [None] and colours(page, [(0, 299)]) == [None]
    page.locator(".fb").focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("__flipbook.cell(0, 301) !== null")
    page.get_by_role("button", name="Fold: fit the whole run in view").click()
    page.wait_for_function("__flipbook.cell(0, 0) !== null && __flipbook.cell(0, 301) !== null")


def test_with_many_new_tokens_the_window_follows_the_cursor(page):
    mount(page, recording=saved(story(400)), at=0)
    for step in (0, 5, 57, 250, 399):
        page.locator(".fb-scrub").fill(str(step))
        at_rest(page, step)
        phase = "decode" if step else "prefill"
        columns = [7 + step] if step else [0, 7]
        assert lit(page, phase, columns=columns) == block(columns)
