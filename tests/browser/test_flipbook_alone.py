"""The flipbook in a real browser, on small made runs: what is drawn, what moves it, and what it tells."""

from __future__ import annotations

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser.flipbook_page import mount, serve
from tests.browser.flipbook_runs import LAYERS, MS, run_of, saved, story
from views.palette import COLOURS

PROMPT = range(8)
ATTENTION = [i for i, kind in enumerate(LAYERS) if kind == "full_attention"]
DELTA = [i for i, kind in enumerate(LAYERS) if kind == "linear_attention"]


@pytest.fixture(scope="module")
def address():
    with serve() as url:
        yield url


@pytest.fixture
def page(page: Page, address: str):
    """A page without faults: whatever the browser complains about fails the test."""
    complaints = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.goto(address)
    yield page
    assert [text for text in complaints if "404" not in text] == []


def at_rest(page: Page, step: int | None = None) -> None:
    page.wait_for_function("__flipbook.motion === 'rest' && __flipbook.progress === 1")
    if step is not None:
        page.wait_for_function("step => __flipbook.step === step", arg=step)
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def colours(page: Page, cells: list[tuple[int, int]], part: str = "y") -> list[str | None]:
    """Colours on the score's canvas at (layer, position) cells: #rrggbb, or None where a column is out of view."""
    return page.evaluate(
        """([cells, part]) => {
          const canvas = document.getElementById("host").shadowRoot.querySelector(".fb-score-canvas");
          const ratio = canvas.width / canvas.clientWidth;
          const context = canvas.getContext("2d");
          const paper = getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number);
          const hex = (value) => Math.round(value).toString(16).padStart(2, "0");
          return cells.map(([layer, position]) => {
            const cell = __flipbook.cell(layer, position);
            if (!cell) return null;
            const pixel = context.getImageData(Math.round(cell.x * ratio), Math.round(cell[part] * ratio), 1, 1).data;
            const share = pixel[3] / 255;
            return "#" + paper.map((value, i) => hex(pixel[i] * share + value * (1 - share))).join("");
          });
        }""",
        [cells, part],
    )


def lit(page: Page, phase: str, theme: str = "light", columns: range = range(17)) -> set[tuple[int, int]]:
    """Cells drawn in the colour of a phase."""
    cells = [(layer, position) for layer in range(len(LAYERS)) for position in columns]
    wanted = COLOURS[theme][phase]
    return {cell for cell, colour in zip(cells, colours(page, cells), strict=True) if near(colour, wanted)}


def near(colour: str | None, wanted: str, tolerance: int = 6) -> bool:
    if colour is None:
        return False
    return all(abs(int(colour[i : i + 2], 16) - int(wanted[i : i + 2], 16)) <= tolerance for i in (1, 3, 5))


def block(columns) -> set[tuple[int, int]]:
    return {(layer, position) for layer in range(len(LAYERS)) for position in columns}


def events_of(run) -> list[dict]:
    return saved(run)["events"]


def send(page: Page, message: dict, socket: int = 0) -> None:
    page.evaluate("([i, message]) => sockets[i].send(message)", [socket, message])


def reports(page: Page, name: str) -> list:
    return [value for told, value in page.evaluate("window.reports") if told == name]


# What is drawn


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
    assert all(later >= earlier - 1 for earlier, later in zip(counts, counts[1:], strict=False))


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


# What moves the cursor, and what it moves


def test_keys_move_the_cursor_and_do_not_reach_the_page(page):
    mount(page, recording=saved(story(40)), at=0)
    at_rest(page)
    page.evaluate("window.leaked = []; document.addEventListener('keydown', (event) => leaked.push(event.key))")
    page.locator(".fb").focus()
    for key, step in [("ArrowRight", 1), ("Shift+ArrowRight", 11), ("ArrowLeft", 10), ("End", 39), ("Home", 0)]:
        page.keyboard.press(key)
        at_rest(page, step)
    page.keyboard.press("t")
    expect(page.get_by_role("table")).to_be_visible()
    page.keyboard.press("T")
    expect(page.get_by_role("table")).to_be_hidden()
    page.keyboard.press("Space")
    page.wait_for_function("__flipbook.motion === 'play'")
    page.keyboard.press("Space")
    page.wait_for_function("__flipbook.motion === 'rest'")
    page.keyboard.press("x")
    assert [key for key in page.evaluate("leaked") if key not in ("x", "Shift")] == []


def test_one_cursor_moves_caption_memory_odds_time_and_table(page):
    mount(page, recording=saved(story()), at=0)
    page.get_by_role("button", name="Table of the passes").click()
    pictures = set()
    for step in range(4):
        page.locator(".fb-scrub").fill(str(step))
        at_rest(page, step)
        expect(page.locator(".fb-pass-name")).to_have_text(re.compile(f"^Pass {step + 1} of 10 · "))
        expect(page.locator(".fb-readout-kv .fb-value")).to_have_text(f"{8 + step} KiB")
        expect(page.locator(".fb-readout-state .fb-value")).to_have_text("24 KiB")
        expect(page.locator(".fb-odds .fb-panel-title")).to_have_text(f"Odds from pass {step + 1}")
        expect(page.locator(".fb-bar-chosen .fb-bar-token")).to_have_text(f"·w{step}")
        expect(page.locator("tr[aria-current] th")).to_have_text(str(step + 1))
        pictures.add(page.locator(".fb-time-canvas").screenshot() + page.locator(".fb-memory-canvas").screenshot())
    assert len(pictures) == 4, "time axis and memory plot change with every step"


def test_the_settled_step_is_told_once(page):
    mount(page, recording=saved(story(40)), at=0)
    at_rest(page)
    page.wait_for_timeout(400)
    assert page.evaluate("window.reports") == [], "nothing is told on mounting"
    page.locator(".fb").focus()
    for _ in range(12):
        page.keyboard.press("ArrowRight")
    at_rest(page, 12)
    page.wait_for_timeout(400)
    assert page.evaluate("window.reports") == [["step", 12]]


def test_our_own_report_coming_back_late_moves_nothing_but_python_can(page):
    run = saved(story(20))
    mount(page, recording=run, at=0)
    at_rest(page)
    page.locator(".fb-scrub").fill("5")
    page.wait_for_timeout(350)
    page.locator(".fb-scrub").fill("9")
    assert reports(page, "step") == [5]
    mount(page, recording=run, at=5)
    at_rest(page, 9)
    mount(page, recording=run, at=2)
    at_rest(page, 2)


def test_calling_again_with_the_same_settings_changes_nothing(page):
    run = saved(story())
    for _ in range(4):
        mount(page, recording=run, at=3)
    at_rest(page, 3)
    page.locator(".fb").focus()
    page.keyboard.press("ArrowRight")
    at_rest(page, 4)
    assert page.locator(".fb-score-canvas").count() == 1


def test_playing_goes_through_the_passes_at_the_stated_speed_and_stops_at_the_end(page):
    mount(page, recording=saved(story()), at=0)
    at_rest(page)
    speed = page.get_by_role("combobox", name="Playing speed")
    expect(speed).to_have_value("slow100")
    speed.select_option("slow10")
    page.get_by_role("button", name="Play").click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    page.wait_for_function("__flipbook.step === 9 && __flipbook.motion === 'rest'")
    page.wait_for_timeout(350)
    assert reports(page, "step")[-1] == 9


def test_reduced_motion_shows_every_pass_whole(page):
    page.emulate_media(reduced_motion="reduce")
    mount(page, recording=saved(story()), at=0)
    page.locator(".fb").focus()
    page.evaluate(
        """() => { window.seen = []; const look = () => { seen.push(__flipbook.progress); requestAnimationFrame(look); }; look(); }"""
    )
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    at_rest(page, 2)
    assert set(page.evaluate("seen")) == {1}
    expect(page.get_by_role("combobox", name="Playing speed")).to_have_value("even")


def test_a_click_on_the_picture_goes_to_the_pass_that_computed_it(page):
    mount(page, recording=saved(story()), at=0)
    at_rest(page)
    cell = page.evaluate("__flipbook.cell(2, 13)")
    page.locator(".fb-score-canvas").click(position={"x": cell["x"], "y": cell["y"]})
    at_rest(page, 6)
    page.locator(".fb-time-canvas").click(position={"x": 12, "y": 20})
    at_rest(page, 0)


# What it says


def test_the_scrubber_and_the_picture_are_told_in_words(page):
    mount(page, recording=saved(story()), at=2)
    at_rest(page)
    scrub = page.get_by_role("slider", name="Pass")
    expect(scrub).to_have_attribute("aria-valuetext", "pass 3 of 10, decode, “w1” in, “w2” out")
    expect(page.locator(".fb-score-canvas")).to_have_attribute(
        "aria-label", "Pass 3 of 10, decode. “w1” in, “w2” out. KV cache 10 KiB, state 24 KiB."
    )
    page.locator(".fb").focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    voice = page.locator("[aria-live=polite]")
    assert voice.text_content() == "", "nothing is said while it moves"
    expect(voice).to_have_text(re.compile("^Pass 6 of 10, decode"))


def test_the_table_holds_every_pass(page):
    mount(page, recording=saved(story()), at=0)
    page.get_by_role("button", name="Table of the passes").click()
    rows = page.get_by_role("row")
    expect(rows).to_have_count(11)
    expect(rows.nth(0)).to_have_text("PassPhaseTokens inTokens outTimeKV cache afterState after")
    expect(rows.nth(2)).to_have_text("2decode·w0·w14 ms9 KiB24 KiB")


def test_markup_in_tokens_is_shown_and_never_run(page):
    page.evaluate("window.ran = false")
    bad = "<img src=x onerror='window.ran=true'>"
    mount(page, recording=saved(run_of([bad, " a"], [bad, "\n\n", b"\xe2\x96", " end"])), at=1)
    at_rest(page)
    expect(page.locator(".fb-text")).to_contain_text(bad)
    expect(page.locator(".fb-pass-detail")).to_have_text(f"“{bad}” in, alone → “↵↵” out")
    page.keyboard.press("t")
    page.locator(".fb-scrub").fill("2")
    expect(page.locator(".fb-bar-chosen .fb-bar-token")).to_have_text("‹E2 96›")
    assert page.locator(".fb img").count() == 0
    assert page.evaluate("window.ran") is False


def test_the_evidence_says_how_the_numbers_were_made(page):
    mount(page, recording=saved(story()), at=0)
    label = page.get_by_role("button", name="recorded Mar 5, 2026")
    label.focus()
    expect(page.get_by_role("tooltip")).to_be_visible()
    expect(page.get_by_role("tooltip")).to_contain_text("Test CPU (2 threads)")


# A live run


def live(page: Page, count: int, run=None, **changes):
    """Open a live run and let its first events arrive."""
    events = events_of(run or story())
    mount(page, run_id="ab" * 16, **changes)
    page.wait_for_function("sockets.length === 1")
    send(page, {"from": 0, "events": events[:count]})
    return events


def test_a_live_run_asks_for_its_log_under_the_base_path(page):
    mount(page, run_id="ab" * 16, base_path="/class")
    page.wait_for_function("sockets.length === 1")
    assert re.fullmatch(r"ws://127\.0\.0\.1:\d+/class/twospeeds/runs/(ab){16}\?from=0", page.evaluate("sockets[0].url"))


def test_a_fast_engine_is_watched_slowly_with_a_second_cursor_ahead(page):
    live(page, 9)
    page.wait_for_function("__flipbook.step === 0 && __flipbook.engine === 6 && __flipbook.progress > 0.2")
    expect(page.locator(".fb-status")).to_have_text("watching slowed, the engine is at pass 7")
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
    page.locator(".fb-scrub").fill("9")
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


# Before there is something to see, and when it fails


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


# On any screen, for everyone


@pytest.mark.parametrize("width", [320, 390, 736, 1280, 1920])
def test_nothing_sticks_out_at_any_width(page, width):
    page.set_viewport_size({"width": width, "height": 844})
    mount(page, recording=saved(story(60)), at=30)
    at_rest(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_on_a_phone_the_controls_are_under_the_thumb(page):
    page.set_viewport_size({"width": 390, "height": 844})
    mount(page, recording=saved(story()), at=4)
    at_rest(page)
    for name in ("First pass", "Back one pass", "Play", "Forward one pass", "Last pass"):
        place = page.get_by_role("button", name=name, exact=True).bounding_box()
        assert place["width"] >= 44 and place["height"] >= 44
        assert 422 < place["y"] < 844 - 44, "in the lower half of the first screen"
    assert lit(page, "decode") == block([11]), "the same picture"
    order = [
        page.locator(name).bounding_box()["y"]
        for name in (".fb-text", ".fb-score", ".fb-memory", ".fb-odds", ".fb-time")
    ]
    assert order == sorted(order)


STATES = {
    "prefill": {"at": 0},
    "decode": {"at": 4},
    "hidden": {"reveal": False},
}


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("state", STATES)
def test_axe_finds_nothing(page, theme, state):
    mount(page, theme=theme, recording=saved(story()), **STATES[state])
    if state != "hidden":
        at_rest(page)
        page.get_by_role("button", name="Table of the passes").click()
    found = Axe().run(page, context="#host")
    assert [(fault["id"], fault["nodes"][0]["html"]) for fault in found.response["violations"]] == []


@pytest.mark.parametrize("width", [390, 1280])
def test_axe_finds_nothing_in_a_live_run_that_failed(page, width):
    page.set_viewport_size({"width": width, "height": 844})
    live(page, 6)
    page.evaluate("sockets[0].drop()")
    expect(page.locator(".fb-note")).to_be_visible()
    assert [fault["id"] for fault in Axe().run(page, context="#host").response["violations"]] == []
