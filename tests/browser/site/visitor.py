"""What a person does on the pages, and what they then see."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Locator, Page, expect

from tests.browser.site.conftest import settled
from views.palette import BACKGROUND, COLOURS

LAYERS = 8
LESSON = "/one-request-two-phases"


def visit(page: Page, url: str) -> None:
    """Open an address and wait until the page stands."""
    page.goto(url)
    settled(page)


def ask(page: Page, prompt: str) -> None:
    """Type into the box and press the button."""
    page.get_by_role("textbox").first.fill(prompt)
    page.get_by_role("button", name="Run it").click()
    settled(page)


def guess(page: Page, passes: int) -> None:
    """Answer the lesson's question; the run that waited for it begins."""
    page.get_by_role("spinbutton", name="Your guess").fill(str(passes))
    with new_run(page):
        page.get_by_role("button", name="Guess and run").click()


def run_in_lab(page: Page, prompt: str, new_tokens: int) -> None:
    """Fill the Lab's form and send it."""
    page.get_by_role("textbox", name="Prompt").fill(prompt)
    box = page.get_by_role("spinbutton", name="New tokens")
    box.fill(str(new_tokens))
    box.press("Tab")
    with new_run(page):
        page.get_by_role("button", name="Run it").click()


@contextmanager
def new_run(page: Page) -> Iterator[None]:
    """Until what is done inside has put a run into the address that was not there before."""
    before = page.url
    yield
    page.wait_for_function(
        """before => {
          const run = (url) => new URL(url).searchParams.get("run");
          return run(location.href) && run(location.href) !== run(before);
        }""",
        arg=before,
    )
    settled(page)
    page.wait_for_function("window.__flipbook?.events > 0")


def wait_for_end(page: Page) -> None:
    """Until the run in view has ended and the figures under it have been drawn."""
    page.wait_for_function("window.__flipbook?.isOver === true")
    expect(page.locator(".ts-cards").first).to_be_visible()
    settled(page)


def card_value(page: Page, label: str) -> Locator:
    """What stands on the card with this label."""
    return page.locator(".ts-cards > div").filter(has_text=label).locator("dd").first


def at_rest(page: Page, step: int) -> None:
    """Until the picture stands still at a pass."""
    page.wait_for_function("step => __flipbook.step === step && __flipbook.progress === 1", arg=step)
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def hold_the_picture(page: Page) -> None:
    """Take the picture by the keyboard and go to its first pass."""
    page.get_by_role("group", name="Flipbook of one request").focus()
    page.keyboard.press("Home")
    at_rest(page, 0)


def lit_columns(page: Page, phase: str, columns: int, theme: str = "light") -> list[set[int]]:
    """For each layer, the positions whose cell on the canvas has the colour of the phase."""
    pixels = page.locator(".fb-score-canvas").evaluate(
        """(canvas, [layers, columns, paper]) => {
          const ratio = canvas.width / canvas.clientWidth, context = canvas.getContext("2d");
          const pixel = (cell) => {
            if (!cell) return null;
            const at = [cell.x, cell.y].map((value) => Math.round(value * ratio));
            const [r, g, b, a] = context.getImageData(...at, 1, 1).data;
            return [r, g, b].map((value, i) => value * a / 255 + paper[i] * (1 - a / 255));
          };
          return Array.from({length: layers}, (_, layer) =>
            Array.from({length: columns}, (_, position) => pixel(__flipbook.cell(layer, position))));
        }""",
        [LAYERS, columns, _rgb(BACKGROUND[theme])],  # type: ignore[index]
    )
    wanted = _rgb(COLOURS[theme][phase])  # type: ignore[index]
    return [{i for i, pixel in enumerate(row) if pixel and _near(pixel, wanted)} for row in pixels]


def says(page: Page, text: str | re.Pattern[str]) -> None:
    """The page shows this text."""
    expect(page.get_by_text(text).first).to_be_visible()


def _rgb(colour: str) -> list[int]:
    return [int(colour[i : i + 2], 16) for i in (1, 3, 5)]


def _near(pixel: list[float], wanted: list[int]) -> bool:
    return all(abs(a - b) <= 8 for a, b in zip(pixel, wanted, strict=True))
