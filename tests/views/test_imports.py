"""The Streamlit process never imports torch: whatever pages and views need, they ask the engine's process for it."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

SCRIPT = """
import pathlib, runpy, sys
for package in ("views", "lessons"):
    for path in pathlib.Path(package).glob("[!_]*.py"):
        if path.name != "main.py":
            __import__(f"{package}.{path.stem}")
for path in (*pathlib.Path("pages").glob("*.py"), pathlib.Path("views/main.py")):
    compile(path.read_text(), str(path), "exec")
import streamlit.testing.v1 as testing
page = testing.AppTest.from_file("views/main.py", default_timeout=60).run()
assert not page.exception, page.exception
assert "torch" not in sys.modules, "torch was imported"
"""


def test_opening_a_page_imports_no_torch(tmp_path):
    environment = {"PATH": "", "TWOSPEEDS_ENGINE_URL": "http://127.0.0.1:9", "TWOSPEEDS_HOME": str(tmp_path)}
    subprocess.run(
        [sys.executable, "-c", SCRIPT], cwd=ROOT, env=environment, check=True, capture_output=True, text=True
    )
