"""A lesson shows the engine's own code by reading its file; nothing is imported."""

import subprocess
import sys
from pathlib import Path

import pytest

from lessons.code_source import SourceError, excerpt

ROOT = Path(__file__).resolve().parents[2]


def test_a_function_is_cut_out_whole_from_its_first_line_to_its_last():
    shown = excerpt("engine.account.metrics:percentile")
    file = (ROOT / shown.path).read_text().splitlines()
    assert shown.code.splitlines()[0] == file[shown.first_line - 1]
    assert shown.code.startswith("def percentile(") and shown.code.rstrip().endswith("return sorted(values)[rank - 1]")


def test_a_method_is_dedented_and_keeps_its_decorators():
    shown = excerpt("engine.account.record:Run.passes")
    assert shown.code.startswith("@property\ndef passes(self)")


def test_a_package_is_found_by_its_init_file(tmp_path):
    (tmp_path / "engine").mkdir()
    (tmp_path / "engine" / "__init__.py").write_text("def here():\n    return 1\n")
    assert excerpt("engine:here", tmp_path).path == "engine/__init__.py"


@pytest.mark.parametrize(
    "reference", ["os:path", "engine.loop.nowhere:x", "engine...:x", "engine.account.record:Run.fly", "x", ""]
)
def test_what_is_not_there_or_not_the_engines_is_refused(reference):
    with pytest.raises(SourceError):
        excerpt(reference)


def test_showing_the_engines_step_does_not_import_torch():
    script = (
        "import sys; from lessons.code_source import excerpt; "
        "assert 'def step' in excerpt('engine.loop.engine:Engine.step').code; assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=True)
