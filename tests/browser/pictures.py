"""Screenshots of every page in both themes and three widths, to be looked at: `python -m tests.browser.pictures`.

They land in screenshots/, which is not kept; the README's picture is one of them, copied by hand.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from lessons import catalogue
from tests.browser import install
from tests.browser.site.conftest import ROOT, ready_app, settled
from tests.browser.site.visitor import LESSON, ask, guess, hold_the_picture, run_in_lab, visit, wait_for_end

WIDTHS = {390: 844, 1280: 900, 1920: 1080}
OUT = ROOT / "screenshots"


def main() -> int:
    """Take them all."""
    OUT.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, ready_app(Path(folder)) as app, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=install.find(), args=list(install.QUIET))
        for theme in ("light", "dark"):
            for width, height in WIDTHS.items():
                take(browser, app.url, theme, width, height)
        browser.close()
    print(f"{len(list(OUT.glob('*.png')))} pictures in {OUT.relative_to(ROOT)}/")
    return 0


def take(browser: Browser, url: str, theme: str, width: int, height: int) -> None:
    """One visitor's walk over the pages."""
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=theme)  # type: ignore[arg-type]
    page = context.new_page()
    page.set_default_timeout(90_000)

    def picture(name: str, *, whole: bool = False) -> None:
        _save(page, OUT / f"{name}-{width}-{theme}.png", whole)

    visit(page, url + LESSON)
    page.wait_for_timeout(2_500)
    picture("lesson-1-first")
    ask(page, "Once upon a time, there was a")
    picture("lesson-1-guess")
    guess(page, 11)
    wait_for_end(page)
    hold_the_picture(page)
    picture("lesson-1-prefill")
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    page.wait_for_timeout(1_500)
    picture("lesson-1-decode")
    page.get_by_role("button", name="Run it again with instruments").click()
    page.locator(".js-plotly-plot").nth(2).wait_for()
    picture("lesson-1-whole", whole=True)
    visit(page, url + "/lab")
    run_in_lab(page, "Once upon a time, there was a little girl named", 200)
    wait_for_end(page)
    picture("lab-whole", whole=True)
    lessons = [one.slug for one in catalogue.lessons()[1:]]
    for name in ("course", "classroom", "compare", "recordings", "serving", "kernels", "method", *lessons):
        visit(page, f"{url}/{name}")
        page.wait_for_timeout(2_500)
        picture(f"{name}-whole", whole=True)
    context.close()


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
    sys.exit(main())
