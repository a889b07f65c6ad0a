"""What a person waits for on the page, measured in a real browser beside the real app.

    python -m benchmarks.page

1. From starting the app to an engine that has loaded its model, and to a page with the box on it beside that engine.
2. From the click on "Run it" to the first frame that shows the new run.
3. Frames a second while scrubbing one pass a frame through a run of some hundred tokens.

The browser runs on the same cores as the app and the engine. Medians, with n and the extremes; the last line is the
same as JSON. Needs what `make browser` brings.
"""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Page, sync_playwright
from rich.console import Console
from rich.table import Table

from tests.browser import install
from tests.browser.site.conftest import App, ready_app
from tests.browser.site.visitor import hold_the_picture, run_in_lab, visit, wait_for_end

CLICKS = 9
SCRUBS = 5

FIRST_FRAME = """() => {
  window.clicked = null; window.shown = null;
  const before = new URL(location.href).searchParams.get("run");
  document.addEventListener("pointerdown", () => {
    window.clicked = performance.now();
    const look = () => {
      const run = new URL(location.href).searchParams.get("run"), book = window.__flipbook;
      if (run && run !== before && book?.connections > 0 && book.events > 0) window.shown = performance.now();
      else requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  }, {once: true, capture: true});
}"""

SCRUB = """async (steps) => {
  function deep(selector, root = document) {
    const found = root.querySelector(selector);
    if (found) return found;
    for (const element of root.querySelectorAll("*"))
      if (element.shadowRoot) { const inner = deep(selector, element.shadowRoot); if (inner) return inner; }
    return null;
  }
  const scrub = deep(".fb-scrub");
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  const last = Number(scrub.max), start = await frame();
  let now = start;
  for (let i = 1; i <= steps; i++) {
    scrub.value = String(Math.abs((i % (2 * last)) - last));
    scrub.dispatchEvent(new Event("input", {bubbles: true}));
    now = await frame();
  }
  return 1000 * steps / (now - start);
}"""


def start_times(page: Page, folder: Path) -> tuple[float, float]:
    """Seconds from the command to an engine with its model loaded, and to the box on the page of a fresh browser."""
    began = time.monotonic()
    app = App(folder)
    try:
        app.wait_until("/twospeeds/health", lambda answer: answer.json().get("status") == "ready", 120)
        ready = time.monotonic() - began
        visit(page, app.url)
        page.get_by_role("textbox").first.wait_for()
        return ready, time.monotonic() - began
    finally:
        app.stop()


def first_picture_ms(page: Page, url: str) -> float:
    """Milliseconds from pressing the button to the first frame with the new run."""
    visit(page, url + "/lab?new=10")
    page.wait_for_function("window.__flipbook !== undefined")
    page.evaluate(FIRST_FRAME)
    page.get_by_role("button", name="Run it").click()
    page.wait_for_function("window.shown !== null")
    return float(page.evaluate("window.shown - window.clicked"))


def scrub_rates(page: Page, url: str) -> list[float]:
    """Frames a second of some scrubs through a run of 200 new tokens."""
    visit(page, url + "/lab?new=200&stop=0")
    run_in_lab(page, "Once upon a time, there was a", 200)
    wait_for_end(page)
    hold_the_picture(page)
    return [float(page.evaluate(SCRUB, 150)) for _ in range(SCRUBS)]


def main() -> None:
    """Measure all three, print the table and the line of JSON."""
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=install.find(), args=list(install.QUIET))
        engine_s, page_s = start_times(browser.new_page(), Path(one))
        with ready_app(Path(two)) as app:
            page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
            first_picture_ms(page, app.url)  # the first fills the browser's cache
            clicks = [first_picture_ms(page, app.url) for _ in range(CLICKS)]
            rates = scrub_rates(page, app.url)
        browser.close()
    report({"start to engine ready, s": [engine_s], "start to the box on the page, s": [page_s],
            "click to first picture, ms": clicks, "scrubbing, frames/s": rates})  # fmt: skip


def report(measured: dict[str, list[float]]) -> None:
    """A table for people, a line for programs."""
    table = Table("measured", "median", "least", "most", "n")
    for name, values in measured.items():
        spread = (statistics.median(values), min(values), max(values))
        table.add_row(name, *(f"{value:.3g}" for value in spread), str(len(values)))
    Console().print(table)
    print(json.dumps({name: [round(value, 2) for value in values] for name, values in measured.items()}))


if __name__ == "__main__":
    main()
