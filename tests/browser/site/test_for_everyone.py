"""axe on every page, light and dark: nothing of ours. Streamlit's own faults are listed; the list may only shrink."""

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.browser.site.visitor import LESSON, visit

STREAMLITS_OWN: set[tuple[str, str]] = set()
"""(rule, part of the element's selector) of faults in elements that Streamlit draws and we cannot reach."""


def faults(page) -> list[str]:
    found = []
    for violation in Axe().run(page).response["violations"]:
        for node in violation["nodes"]:
            target = " ".join(str(part) for part in node["target"])
            if not any(violation["id"] == rule and part in target for rule, part in STREAMLITS_OWN):
                found.append(f"{violation['id']}: {target}: {node['html'][:160]}")
    return found


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("path", [LESSON, "/lab", "/method"])
def test_axe_finds_nothing_of_ours(browser, app, path, theme):
    context = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme=theme)
    page = context.new_page()
    visit(page, app.url + path)
    if path != "/method":
        page.wait_for_function("window.__flipbook !== undefined")
    found = faults(page)
    assert not found, "\n".join(found)
    context.close()
