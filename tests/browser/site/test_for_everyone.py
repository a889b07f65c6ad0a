"""axe on every page, light and dark: nothing of ours. Streamlit's own faults are listed; the list may only shrink."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from lessons import catalogue
from tests.browser.site.conftest import settled
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


def faults(page, *rules: str) -> list[str]:
    """What axe finds of ours, by these rules or by all of them."""
    # Elements that pass are counted and not described, which takes as long as looking for faults.
    options = {"resultTypes": ["violations"]} | ({"runOnly": list(rules)} if rules else {})
    return [
        f"{violation['id']}: {node['target']}: {node['html'][:160]}"
        for violation in Axe().run(page, options=options).response["violations"]
        for node in violation["nodes"]
        if not is_streamlits_own(page, violation["id"], str(node["target"][-1]))
    ]


def faults_light_and_dark(page) -> list[str]:
    """The same in both themes; only colours can be wrong in one of them. The page stands in light."""
    found = faults(page)
    ground = "getComputedStyle(document.querySelector('[data-testid=stApp]')).backgroundColor"
    light = page.evaluate(ground)
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(f"light => {ground} !== light", arg=light)
    settled(page)
    return found + [f"dark: {fault}" for fault in faults(page, "color-contrast")]


PAGES = ["/lab", "/serving", "/kernels", "/method", "/course", "/format", LESSON]
LESSONS = [f"/{one.slug}" for one in catalogue.lessons()[1:]]
WITH_A_PICTURE = {"/lab", "/format", LESSON, *LESSONS}
"""It comes after the rest of the page, and has no names before it has been built."""
PATHS = [*PAGES, *LESSONS, f"{LESSON}?teach=1", f"{LESSON}?present=notes", f"{LESSON}?lang=es"]


@pytest.mark.parametrize("path", PATHS)
def test_axe_finds_nothing_of_ours_light_or_dark(page, app, path):
    page.emulate_media(color_scheme="light")
    visit(page, app.url + path)
    if path.partition("?")[0] in WITH_A_PICTURE and "present=notes" not in path:
        page.wait_for_function("window.__flipbook !== undefined")
    found = faults_light_and_dark(page)
    assert not found, "\n".join(found)


def test_how_a_number_was_made_opens_by_keyboard_shuts_by_escape_and_can_be_read(page, app):
    visit(page, app.url + "/lab")
    asked = page.get_by_role("button", name="How? Queue")
    told = page.locator(".ts-popover", has=asked).locator("[popover]")
    asked.focus()
    page.keyboard.press("Enter")
    expect(told).to_be_visible()
    expect(told).to_contain_text("From the request's arrival at the engine to the start of its first pass.")
    assert told.evaluate("one => one.getBoundingClientRect().right <= innerWidth")
    found = faults_light_and_dark(page)
    assert not found, "\n".join(found)
    page.keyboard.press("Escape")
    expect(told).to_be_hidden()
    assert asked.evaluate("one => one === document.activeElement"), "whoever reads on by keyboard stays where they were"
