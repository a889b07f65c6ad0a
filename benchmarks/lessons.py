"""How long a learner waits for a lesson to open and for an instrument to answer, in a real browser beside the real app.

    python -m benchmarks.lessons

1. Opening a lesson by its address, the browser's cache filled: from the request to a page whose script has ended.
2. Opening it by a click in the side bar, which is how a course is walked.
3. On the page that shows every instrument working: from a change of a control to a page that has answered. No model
   runs for that, so all of it is the page's own time.

The browser runs on the same cores as the app and the engine. A median for each lesson or control, of
them the median and the extremes; the last line is the same as JSON.
"""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Locator, Page, sync_playwright
from rich.console import Console
from rich.table import Table

from lessons import catalogue
from tests.browser import install
from tests.browser.site.conftest import ready_app, settled
from tests.browser.site.visitor import visit

OPENS_IN_MS, ANSWERS_IN_MS = 1000, 300
ROUNDS = 3

ANSWERED = """() => {
  window.answered = null;
  const state = () => document.querySelector("[data-testid=stApp]").dataset.testScriptState;
  document.addEventListener("keydown", function pressed(event) {
    if (event.key !== "Enter") return;
    document.removeEventListener("keydown", pressed, true);
    const began = performance.now();
    let ran = false;
    const look = () => {
      ran = ran || state() === "running";
      if (ran && state() === "notRunning") window.answered = performance.now() - began;
      else requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  }, true);
}"""
CONTROLS = "[data-testid=stNumberInputField], [data-testid=stSelectbox] input"


def opened_ms(page: Page, url: str) -> float:
    """Milliseconds from the request for an address to a page that stands."""
    began = time.monotonic()
    visit(page, url)
    page.get_by_role("heading", level=1).first.wait_for()
    return 1e3 * (time.monotonic() - began)


def clicked_ms(page: Page, slug: str) -> float:
    """Milliseconds from a click on the lesson's name in the side bar to a page that stands."""
    link = page.locator(f"[data-testid=stSidebarNavLink][href$='/{slug}']")
    link.scroll_into_view_if_needed()
    began = time.monotonic()
    link.click()
    page.wait_for_url(f"**/{slug}**")
    settled(page)
    return 1e3 * (time.monotonic() - began)


def answered_ms(page: Page, control: Locator) -> float:
    """Milliseconds from the key that changes a number or a choice to a page that has answered."""
    control.scroll_into_view_if_needed()
    control.focus()
    if control.get_attribute("role") == "combobox":
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowDown")
    else:
        control.fill(str(1 + int(control.input_value().split(".")[0])))
    page.evaluate(ANSWERED)
    page.keyboard.press("Enter")
    page.wait_for_function("window.answered !== null")
    settled(page)
    return float(page.evaluate("window.answered"))


def measure(page: Page, url: str) -> dict[str, dict[str, list[float]]]:
    """Kind of wait -> lesson or control -> its times."""
    slugs = [one.slug for one in catalogue.lessons()]
    waits: dict[str, dict[str, list[float]]] = {"by address": {}, "by click": {}, "an instrument": {}}
    visit(page, f"{url}/{slugs[0]}")  # the first fills the browser's cache
    for slug in slugs * ROUNDS:
        waits["by address"].setdefault(slug, []).append(opened_ms(page, f"{url}/{slug}"))
    for slug in slugs * ROUNDS:
        waits["by click"].setdefault(slug, []).append(clicked_ms(page, slug))
    visit(page, f"{url}/format")
    controls = page.locator("[data-testid=stMain]").locator(CONTROLS)
    controls.last.wait_for(state="attached")  # the page that shows them all takes a while
    settled(page)
    for number in list(range(controls.count())) * ROUNDS:
        if not controls.nth(number).evaluate("one => one.closest('[data-testid=stForm]') !== null"):
            waits["an instrument"].setdefault(f"control {number}", []).append(answered_ms(page, controls.nth(number)))
    return waits


def main() -> None:
    """Measure, print the table and the line of JSON."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright, ready_app(Path(folder)) as app:
        browser = playwright.chromium.launch(executable_path=install.find(), args=list(install.QUIET))
        waits = measure(browser.new_context(viewport={"width": 1280, "height": 900}).new_page(), app.url)
        browser.close()
    table = Table("wait, ms", "median", "least", "most", "n", "wanted")
    for kind, by_lesson in waits.items():
        each = [statistics.median(times) for times in by_lesson.values()]
        wanted = ANSWERS_IN_MS if kind == "an instrument" else OPENS_IN_MS
        spread = (statistics.median(each), min(each), max(each)) if each else ()
        table.add_row(kind, *(f"{value:.0f}" for value in spread), f"{len(each)} x {ROUNDS}", f"{wanted}")
    Console().print(table)
    rounded = {kind: {slug: [round(t) for t in times] for slug, times in by.items()} for kind, by in waits.items()}
    print(json.dumps({"benchmark": "lessons"} | rounded))


if __name__ == "__main__":
    main()
