"""axe on every page, light and dark: nothing of ours. Streamlit's own faults are listed; the list may only shrink."""

import itertools

import pytest
from axe_playwright_python.sync_playwright import Axe

from lessons import catalogue
from tests.browser.site.visitor import LESSON, visit

STREAMLITS_OWN = {
    # The side bar's navigation puts section headings straight into its list, and so loses the list's meaning.
    ("list", "[data-testid=stSidebarNav]"),
    ("listitem", "[data-testid=stSidebarNav]"),
    # The box that takes a file can have the focus, and says that it is mere presentation.
    ("presentation-role-conflict", "[data-testid=stFileUploaderDropzone]"),
}
"""(rule, an element that Streamlit draws and we cannot reach)."""


def is_streamlits_own(page, rule: str, target: str) -> bool:
    places = [place for listed, place in STREAMLITS_OWN if listed == rule]
    inside = "(element, places) => places.some((place) => element.closest(place) !== null)"
    return bool(places) and page.locator(target).first.evaluate(inside, places)


def faults(page) -> list[str]:
    return [
        f"{violation['id']}: {node['target']}: {node['html'][:160]}"
        for violation in Axe().run(page).response["violations"]
        for node in violation["nodes"]
        if not is_streamlits_own(page, violation["id"], str(node["target"][-1]))
    ]


PAGES = ["/lab", "/serving", "/kernels", "/method", "/course", "/format", LESSON]
LESSONS = [f"/{one.slug}" for one in catalogue.lessons()[1:]]
CASES = [
    *(
        (path, theme)
        for path in (*PAGES, f"{LESSON}?teach=1", f"{LESSON}?present=notes")
        for theme in ("light", "dark")
    ),
    (f"{LESSON}?lang=es", "light"),
    # They are made of the same parts, so each is looked at in one theme.
    *zip(LESSONS, itertools.cycle(("light", "dark")), strict=False),
]


@pytest.mark.parametrize(("path", "theme"), CASES)
def test_axe_finds_nothing_of_ours(page, app, path, theme):
    page.emulate_media(color_scheme=theme)
    visit(page, app.url + path)
    if path in (LESSON, "/lab"):
        page.wait_for_function("window.__flipbook !== undefined")
    found = faults(page)
    assert not found, "\n".join(found)
