"""The browser that all browser tests use: the system's, without its own background traffic."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser import install

# A busy machine of two cores may take long over what is instant elsewhere; no test here is about speed.
PATIENCE_MS = 60_000
expect.set_options(timeout=PATIENCE_MS)


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args):
    path = install.find()
    if path is None:
        pytest.fail("no browser: run `make browser`")
    return browser_type_launch_args | {"executable_path": path, "args": list(install.QUIET)}


@pytest.fixture
def page(page):
    page.set_default_timeout(PATIENCE_MS)
    return page


@pytest.fixture(scope="session")
def browser_context_args(browser_context_args):
    return browser_context_args | {"viewport": {"width": 1280, "height": 900}}
