"""Norms and SwiGLU: one pass over rows."""

import pytest
import torch

from kernels import gpu as kernels
from kernels import reference
from tests.kernels.interpreter.closeness import HALF, assert_close, tolerance

DTYPES = (torch.float32, HALF)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("zero_centred", (False, True))
@pytest.mark.parametrize("width", (1, 48, 64, 257))
def test_rms_norm_in_both_weight_conventions(memory, dtype, zero_centred, width):
    x = memory.place(torch.randn(3, width).mul(3).to(dtype), gap=5)
    weight = memory.place(torch.randn(width))
    result = kernels.rms_norm(x, weight, 1e-6, zero_centred=zero_centred)
    truth = reference.rms_norm(x.double(), weight.double(), 1e-6, zero_centred=zero_centred)
    assert result.dtype == dtype
    assert_close(result, truth, tolerance(dtype, float32=1e-6))


def test_rms_norm_tells_the_conventions_apart(memory):
    x, zeros = memory.place(torch.randn(2, 32)), memory.place(torch.zeros(32))
    assert (kernels.rms_norm(x, zeros, 1e-6) == 0).all()
    assert (kernels.rms_norm(x, zeros, 1e-6, zero_centred=True) != 0).all()


def test_rms_norm_of_a_row_of_zeros_is_zeros(memory):
    x, weight = memory.place(torch.zeros(2, 40)), memory.place(torch.ones(40))
    assert (kernels.rms_norm(x, weight, 1e-6) == 0).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_residual_takes_the_addition_and_the_norm_is_of_the_sum(memory, dtype):
    start, added = torch.randn(5, 96), memory.place(torch.randn(5, 96).to(dtype), gap=3)
    residual, weight = memory.place(start, gap=7, may_change=True), memory.place(torch.randn(96))
    result = kernels.add_rms_norm(residual, added, weight, 1e-5)
    total = start.double() + added.double().cpu()
    assert_close(residual, total, 1e-6)
    assert_close(result, reference.rms_norm(total, weight.double().cpu(), 1e-5), 1e-6)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("heads", "width"), ((1, 32), (3, 24), (2, 128)))
def test_gated_rms_norm(memory, dtype, heads, width):
    x = memory.place(torch.randn(4, heads, width).to(dtype))
    gate = memory.place(torch.randn(4, heads * width).mul(4).to(dtype), gap=9)
    weight = memory.place(torch.randn(width))
    truth = reference.gated_rms_norm(x.double(), gate.double(), weight.double(), 1e-6)
    assert_close(kernels.gated_rms_norm(x, gate, weight, 1e-6), truth, tolerance(dtype, float32=1e-6))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("width", (1, 100, 1024, 1500))
def test_swiglu(memory, dtype, width):
    gate_up = memory.place(torch.randn(2, 2 * width).mul(3).to(dtype), gap=2)
    assert_close(kernels.swiglu(gate_up), reference.swiglu(gate_up.double()), tolerance(dtype, float32=1e-6))


def test_swiglu_of_extreme_gates_is_finite(memory):
    gate_up = memory.place(torch.tensor([[-1e4, -100.0, 0.0, 1e4, 1.0, 1.0, 1.0, 1.0]]))
    assert_close(kernels.swiglu(gate_up), torch.tensor([[0.0, 0.0, 0.0, 1e4]]), 1e-6)
