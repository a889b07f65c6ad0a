"""Screenshots of every page in both themes and three widths, to be looked at: `python -m tests.browser.pictures`.

They land in screenshots/, which is not kept; the README's picture is one of them, copied by hand. Lessons are taken
shut, as they are found, and open, after a run and without guesses. `--theme`, `--width` and `--only` take fewer.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import typer
from playwright.sync_api import Browser, Page, sync_playwright

from lessons import catalogue
from lessons.structure import Lesson
from tests.browser import install
from tests.browser.site.conftest import ROOT, ready_app, settled
from tests.browser.site.visitor import LESSON, ask, guess, hold_the_picture, run_in_lab, visit, wait_for_end

THEMES = ["light", "dark"]
WIDTHS = {390: 844, 1280: 900, 1920: 1080}
OUT = ROOT / "screenshots"
DRAWN = "what-the-model-remembers"
PAGES = ["course", "classroom", "compare", "recordings", "serving", "kernels", "method", "format"]
PASS_OVER = ("Run without a guess", "Show it")


def main(
    theme: Annotated[list[str] | None, typer.Option()] = None,
    width: Annotated[list[int] | None, typer.Option()] = None,
    only: Annotated[str, typer.Option(help="What the name of a picture must contain.")] = "",
) -> None:
    """Take them all."""
    OUT.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, ready_app(Path(folder)) as app, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=install.find(), args=list(install.QUIET))
        for colours in theme or THEMES:
            for wide in width or WIDTHS:
                Visitor(browser, app.url, colours, wide, only).walk()
        browser.close()
    print(f"{len(list(OUT.glob('*.png')))} pictures in {OUT.relative_to(ROOT)}/")


class Visitor:
    """Somebody with a screen so wide, who walks over all pages."""

    def __init__(self, browser: Browser, url: str, theme: str, width: int, only: str) -> None:
        self.browser, self.theme, self.size = browser, theme, {"width": width, "height": WIDTHS.get(width, 900)}
        self.url, self.ending, self.only = url, f"{width}-{theme}.png", only
        self._arrive()

    def _arrive(self) -> None:
        """As somebody who has never been here: a lesson that a visitor has answered is open when they come again."""
        context = self.browser.new_context(viewport=self.size, color_scheme=self.theme)  # type: ignore[arg-type]
        self.page = context.new_page()
        self.page.set_default_timeout(90_000)

    def walk(self) -> None:
        """Take the pictures that are wanted."""
        if any(self._wanted(f"lesson-1-{one}") for one in ("first", "guess", "prefill", "decode", "whole")):
            self._first_lesson()
            self.page.context.close()
            self._arrive()
        if self._wanted("lesson-2-drawing") or self._wanted("lesson-2-drawn"):
            self._drawing()
            self.page.context.close()
            self._arrive()
        if self._wanted("lab-whole"):
            visit(self.page, self.url + "/lab")
            run_in_lab(self.page, "Once upon a time, there was a little girl named", 200)
            wait_for_end(self.page)
            self._picture("lab-whole", whole=True)
        for name in PAGES:
            if self._wanted(f"{name}-whole"):
                visit(self.page, f"{self.url}/{name}")
                self.page.wait_for_timeout(2_500)
                self._picture(f"{name}-whole", whole=True)
        for lesson in catalogue.lessons():
            self._lesson(lesson)
        self.page.context.close()

    def _first_lesson(self) -> None:
        page = self.page
        visit(page, self.url + LESSON)
        page.wait_for_timeout(2_500)
        self._picture("lesson-1-first")
        ask(page, "Once upon a time, there was a")
        self._picture("lesson-1-guess")
        guess(page, 11)
        wait_for_end(page)
        hold_the_picture(page)
        self._picture("lesson-1-prefill")
        for _ in range(4):
            page.keyboard.press("ArrowRight")
        page.wait_for_timeout(1_500)
        self._picture("lesson-1-decode")
        page.get_by_role("button", name="Run it again with instruments").click()
        page.locator(".js-plotly-plot").nth(2).wait_for()
        self._picture("lesson-1-whole", whole=True)

    def _drawing(self) -> None:
        """A line drawn by hand that begins at nothing, and what comes of it."""
        page = self.page
        visit(page, f"{self.url}/{DRAWN}?guess=larger:state")
        page.wait_for_function("window.__flipbook !== undefined")
        marks = page.locator(".sk").get_by_role("slider")
        for n in range(9):
            marks.nth(n).fill(str(120 * n))
        page.locator(".sk").scroll_into_view_if_needed()
        self._picture("lesson-2-drawing")
        page.get_by_role("button", name="That is my guess").click()
        settled(page)
        page.locator("#drawn").evaluate("heading => heading.scrollIntoView()")
        page.wait_for_timeout(1_500)
        self._picture("lesson-2-drawn")

    def _lesson(self, lesson: Lesson) -> None:
        shut, opened = f"{lesson.number:02}-{lesson.slug}-shut", f"{lesson.number:02}-{lesson.slug}-open"
        if not self._wanted(shut) and not self._wanted(opened):
            return
        visit(self.page, f"{self.url}/{lesson.slug}")
        self.page.wait_for_timeout(2_500)
        self._picture(shut, whole=True)
        if self._wanted(opened):
            if lesson.named("run"):
                self.page.get_by_role("button", name="Run it", exact=True).click()
                settled(self.page)
            self._pass_over(len(lesson.named("predict")))
            self.page.wait_for_timeout(4_000)
            self._picture(opened, whole=True)

    def _pass_over(self, guesses: int) -> None:
        """Go on without a guess, as often as the lesson asks for one."""
        for _ in range(guesses):
            button = self.page.get_by_role("button", name=PASS_OVER[0]).or_(
                self.page.get_by_role("button", name=PASS_OVER[1])
            )
            button.first.click()
            settled(self.page)
            self.page.wait_for_timeout(1_500)

    def _wanted(self, name: str) -> bool:
        return self.only in name

    def _picture(self, name: str, *, whole: bool = False) -> None:
        if self._wanted(name):
            _save(self.page, OUT / f"{name}-{self.ending}", whole)


def _save(page: Page, path: Path, whole: bool) -> None:
    """Streamlit scrolls inside its main section, so a whole page needs a viewport as tall as that."""
    settled(page)
    size = page.viewport_size
    if whole and size:
        height = page.evaluate("document.querySelector('[data-testid=stMain]').scrollHeight")
        page.set_viewport_size({"width": size["width"], "height": int(height) + 40})
        page.wait_for_timeout(1_500)
    page.screenshot(path=path)
    if whole and size:
        page.set_viewport_size(size)


if __name__ == "__main__":
    typer.run(main)
