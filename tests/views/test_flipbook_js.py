"""The components' numbers, geometry, clock and words, tested where they run: in JavaScript, by Node."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

TESTS = Path(__file__).parent / "js"


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node; the browser tests cover the same code")
def test_the_javascript_of_our_components():
    files = sorted(str(path) for path in TESTS.glob("*.test.mjs"))
    assert files
    done = subprocess.run(["node", "--test", *files], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
