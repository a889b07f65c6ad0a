"""A page for the flipbook alone, and a browser that lets no fault pass."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from tests.browser.flipbook.page import serve


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
