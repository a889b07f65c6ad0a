"""Find a Chromium for the browser tests, or bring one: `python -m tests.browser.install` prints which one it is.

In this order: Chromium or Chrome of the system; Debian's package when run as root; Playwright's own build. When none of
them can be had, it says what to install and exits with 1.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

QUIET = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
"""How the browser is started: as root too, and without traffic of its own."""

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def system_browser() -> str | None:
    """Path of an installed Chromium or Chrome, if any."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


def playwright_browser() -> str | None:
    """Path of Playwright's own Chromium, if it has been downloaded."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return path if Path(path).exists() else None


def find() -> str | None:
    """The browser that the tests use."""
    return system_browser() or playwright_browser()


def _debian_package() -> bool:
    if os.name != "posix" or os.geteuid() != 0 or not shutil.which("apt-get"):
        return False
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "check": False}
    subprocess.run(["apt-get", "update"], **quiet)
    install = ["apt-get", "install", "-y", "--no-install-recommends", "chromium", "fonts-dejavu-core"]
    return subprocess.run(install, **quiet, env=os.environ | {"DEBIAN_FRONTEND": "noninteractive"}).returncode == 0


def _playwright_build() -> bool:
    return subprocess.run([sys.executable, "-m", "playwright", "install", "chromium"], check=False).returncode == 0


def main() -> int:
    """Make sure that there is a browser; print its path."""
    path = find()
    for bring in (_debian_package, _playwright_build):
        path = path or (bring() and find()) or None
    if path is None:
        print(
            "The browser tests need Chromium or Chrome. Install one (Debian: apt-get install chromium), then try again."
        )
        return 1
    print(f"Browser for the tests: {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
