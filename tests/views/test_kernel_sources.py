"""The page beside the kernels shows what the files say: every kernel, its statement, and a reason from its own head."""

import re
from pathlib import Path

import pytest

from lessons.code_source import excerpt
from views.kernel_sources import PAIRS, derivation

KERNELS = Path(__file__).resolve().parents[2] / "kernels" / "triton"


def words(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.key)
def test_a_kernel_stands_beside_its_statement_and_the_reason_is_from_its_own_file(pair):
    assert "triton.jit" in excerpt(pair.kernel).code
    assert excerpt(pair.statement).path.startswith("kernels/reference")
    assert pair.kernel.partition(":")[2] in excerpt(pair.launch).code
    assert words(pair.why) in words(derivation(pair))


def test_no_kernel_is_left_out():
    """Every function of kernels/triton that is started by itself, but the fold of windows, which belongs to drafts."""
    written = {
        f"kernels.triton.{file.stem}:{name}"
        for file in KERNELS.glob("*.py")
        for name in re.findall(r"@triton\.jit\ndef (\w+)\(\n(?:.*\n)*?\) -> None:", file.read_text(encoding="utf-8"))
    }
    missing = written - {pair.kernel for pair in PAIRS}
    assert missing == {"kernels.triton.conv_window:move_window", "kernels.triton.conv_window:_fold_windows"}
