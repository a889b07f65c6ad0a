"""The benchmark compares what it says, on a small model and without llama.cpp; its speed does not matter here."""

import json
import sys

import pytest

from benchmarks import engines
from benchmarks.engine_sides import Side, Turn, stored
from benchmarks.engines import BF16, DECODE, EAGER, INT4, PREFILL_LONG, SHIPPED
from engine.fetch.gguf_folder import complete_folder
from tests.engine.model.gguf_files import random_llama, write_gguf


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A Llama of two layers as a GGUF file with 4 bits in the body."""
    folder = tmp_path_factory.mktemp("models") / "tiny"
    complete_folder(write_gguf(folder / "Tiny.gguf", random_llama(max_position_embeddings=600), "Q4_1"), "the tests")
    return folder


def test_without_llama_cpp_it_says_so_and_compares_the_others(folder, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "llama_cpp", None)
    monkeypatch.setattr(engines, "buffer_bytes", lambda cache: 1 << 20)
    engines.main(model=["not-a-model", str(folder)], rounds=2, steps=2, threads=1)
    *told, last = capsys.readouterr().out.splitlines()
    result = json.loads(last)
    assert "There is no model 'not-a-model'" in told[0]
    assert "pip install -r requirements-bench.txt" in told[-1]
    (one,) = result["models"]
    sides = {side["side"]: side for side in one["sides"]}
    assert list(sides) == [BF16, INT4, EAGER, "transformers bfloat16", "transformers float32"]
    assert sides[BF16][DECODE]["n"] == 4
    assert sides[BF16][PREFILL_LONG]["n"] == 2
    # Of the same matrices: 5 bits a weight as the file ships against 16, norms in float32 on both sides.
    file_bytes = stored(folder / "Tiny.gguf")[1]
    assert sides[INT4]["step_bytes"] == pytest.approx(file_bytes, rel=0.05)
    assert 2 * sides[BF16]["step_bytes"] == pytest.approx(sides["transformers float32"]["step_bytes"], rel=0.05)
    row = next(row for row in one["rows"] if row["what"].startswith(f"{DECODE}: {INT4} / transformers"))
    fastest = min(one[DECODE]["median_ns"] for name, one in sides.items() if name.startswith("transformers"))
    assert row["value"] == fastest / sides[INT4][DECODE]["median_ns"]
    assert row["low"] <= row["high"]
    assert row["verdict"] is None, "nothing is wanted of a tiny model"


def test_a_goal_is_reached_or_missed_by_the_ratio_of_the_medians():
    def side(name):
        return Side(name, "int4", 1000, lambda prompt, steps: Turn(0, []))

    def times(decode):
        return {pace: decode if pace == DECODE else [[10], [10]] for pace in engines.PACES}

    two = {INT4: times([[100, 100], [200, 200]]), SHIPPED: times([[300, 300], [300, 300]])}
    rows = engines.compare("smollm2-135m", [side(INT4), side(SHIPPED)], two, [1.0])
    decode, *_, prefill = (row for row in rows if row.what.endswith(SHIPPED))
    assert (decode.value, decode.low, decode.high, decode.wanted) == (2, 1.5, 3, 2)
    assert (decode.verdict, prefill.wanted, prefill.verdict) == ("reached", 5, "missed")
