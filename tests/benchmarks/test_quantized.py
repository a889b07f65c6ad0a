"""The benchmark compares what it says, on a small model; how fast that is does not matter here."""

import json

import pytest
import torch

from benchmarks import quantized
from engine.model.model import Model
from tests.engine.small_model import write_small_model


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_small_model(tmp_path_factory.mktemp("models") / "small")


def test_it_prints_tables_and_a_last_line_of_json(folder, capsys):
    quantized.main(model=str(folder), rounds=1, prompt=20, threads=1)
    *tables, last = capsys.readouterr().out.splitlines()
    result = json.loads(last)
    assert "nats" in "".join(tables)
    assert "decode" in "".join(tables)
    figures = result["formats"]
    assert list(figures) == ["bf16", "int8", "int4"]
    assert figures["bf16"]["step_bytes"] > figures["int8"]["step_bytes"] > figures["int4"]["step_bytes"]
    assert figures["bf16"]["decode_ratio"] == 1
    assert figures["int4"]["decode_ratio"] == figures["bf16"]["decode_ns"] / figures["int4"]["decode_ns"]
    rows = {row["what"]: row for row in result["quality"]}
    assert 0 < rows["int8"]["divergence_mean"] < rows["int4"]["divergence_mean"]
    assert all(row["divergence_median"] <= row["divergence_worst"] for row in rows.values())
    assert rows["(int4, head in 8 bits)"]["bits_a_weight"] > rows["int4"]["bits_a_weight"]


def test_the_same_odds_do_not_diverge_and_others_do():
    exact = torch.tensor([[0.5, 0.5], [0.9, 0.1]]).double().log()
    assert quantized.compare(exact, exact)["divergence_worst"] == 0
    other = torch.tensor([[0.5, 0.5], [0.2, 0.8]]).double().log()
    compared = quantized.compare(exact, other)
    expected = 0.9 * torch.log(torch.tensor(4.5)) + 0.1 * torch.log(torch.tensor(0.125))
    assert compared["divergence_worst"] == pytest.approx(float(expected))
    assert (compared["divergence_mean"], compared["same_top_choice"]) == (pytest.approx(float(expected) / 2), 0.5)


def test_a_model_that_lent_its_tables_gets_them_back(folder):
    model = Model.load(folder, weights="int4")
    before = model.head
    with pytest.raises(ZeroDivisionError), quantized._swapped(model, head=None):
        assert model.head is None
        raise ZeroDivisionError
    assert model.head is before


def test_random_weights_have_a_speed_and_no_quality(monkeypatch, folder):
    monkeypatch.setattr(quantized, "random_shape", lambda model: object())
    monkeypatch.setattr(quantized, "random_model", lambda shape, weights: Model.load(folder, weights=weights))
    result = quantized.measure("random:small", rounds=1, prompt=4, threads=1)
    assert result["quality"] is None
    assert result["formats"]["int4"]["decode_ns"] > 0
