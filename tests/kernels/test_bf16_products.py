"""Long prompts on processors that multiply bfloat16: what the library computes, and when it is not asked."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from kernels import bf16_products, dispatch, native, reference
from kernels.quantized import PackedMatrix
from tests.kernels.cases import EPS

# Activations and results rounded to 8 bits of mantissa; the sums are float32.
ROUNDED = {"rtol": 1 / 128, "atol": 3e-2}
EXACT = {"rtol": 1e-5, "atol": 2e-5}


@pytest.fixture(autouse=True)
def on_such_a_processor(monkeypatch: pytest.MonkeyPatch):
    """The library computes bfloat16 products on any processor; only its speed differs."""
    monkeypatch.setattr(native, "_multiplies_bf16", True)


def test_many_tokens_are_rounded_and_few_are_not():
    weight, scale = (torch.randn(100, 256) / 16).bfloat16(), torch.randn(256)
    for rows, close in ((bf16_products.LEAST_ROWS, ROUNDED), (bf16_products.LEAST_ROWS - 1, EXACT)):
        x = torch.randn(rows, 256)
        expected = reference.norm_linear(x.double(), scale.double(), EPS, weight)
        torch.testing.assert_close(native.norm_linear(x, scale, EPS, weight).double(), expected, **close)

        out = torch.randn(rows, 100)
        expected = out.double() + reference.linear(x.double(), weight)
        native.linear_add(out, x, weight)
        torch.testing.assert_close(out.double(), expected, **close)

        gate_up, out = torch.randn(rows, 512), torch.randn(rows, 100)
        expected = out.double() + reference.linear(reference.swiglu(gate_up.double()), weight)
        native.swiglu_linear_add(out, gate_up, weight)
        torch.testing.assert_close(out.double(), expected, **close)


@pytest.mark.parametrize("kept", [torch.Tensor.float, lambda weight: PackedMatrix.pack(weight, 4)])
def test_weights_that_are_not_bfloat16_are_not_its_business(kept, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(native, "bf16_products", SimpleNamespace(fit=bf16_products.fit))
    out = torch.zeros(200, 20)
    native.linear_add(out, torch.randn(200, 64), kept(torch.randn(20, 64)))
    assert out.abs().sum() > 0


def test_a_recorded_pass_keeps_to_calls_that_can_be_replayed():
    weight, x, out = torch.randn(20, 64).bfloat16(), torch.randn(100, 64), torch.zeros(100, 20)
    with native.record(native.Buffers()) as recording:
        native.linear_add(out, x, weight)
    once = out.clone()
    recording.replay()
    torch.testing.assert_close(out, 2 * once)


def test_the_record_names_who_shares_an_operation(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(native, "NAMES", {"linear_add": "native+bf16"})
    monkeypatch.setattr(dispatch, "table", dispatch.Table())
    monkeypatch.delenv("TWO_SPEEDS_KERNELS", raising=False)
    names = dispatch.in_use()
    assert (names["linear_add"], names["gated_attention"]) == ("native+bf16", "native")
