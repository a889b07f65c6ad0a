"""The benchmark measures what it says, on a small model; how fast that is does not matter here."""

import json

import pytest

from benchmarks import two_speeds
from tests.engine.small_model import write_small_model


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_small_model(tmp_path_factory.mktemp("models") / "small")


def test_it_prints_a_table_and_a_last_line_of_json(folder, capsys):
    two_speeds.main(model=str(folder), rounds=1, new=4, threads=1)
    *table, last = capsys.readouterr().out.splitlines()
    result = json.loads(last)
    assert "first token" in "".join(table)
    assert result["decode"]["n"] == 3
    assert {name: one["n"] for name, one in result["transformers_decode"].items()} == {"bfloat16": 3, "float32": 3}
    assert result["step_recorded"]["n"] == result["step_not_recorded"]["n"] == result["writing_out"]["n"] == 8
    assert result["ttft"]["p5_ns"] <= result["ttft"]["median_ns"] <= result["ttft"]["p95_ns"]
    fastest = min(one["median_ns"] for one in result["transformers_decode"].values())
    assert result["decode_ratio"] == fastest / result["decode"]["median_ns"]
