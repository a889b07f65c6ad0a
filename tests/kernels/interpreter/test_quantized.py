"""Products with int8 and int4 weights."""

import pytest
import torch

from kernels import gpu as kernels
from kernels import reference_quantized
from tests.kernels.interpreter.closeness import HALF, assert_close, tolerance

SHAPES = ((1, 64, 5), (2, 192, 33), (3, 576, 7), (8, 64, 4), (9, 128, 3))
"""Tokens, width, outputs."""


@pytest.mark.parametrize("dtype", (torch.float32, HALF))
@pytest.mark.parametrize(("n_tokens", "width", "n_outputs"), SHAPES)
def test_int8(memory, dtype, n_tokens, width, n_outputs):
    weight, scale = reference_quantized.quantize_int8(torch.randn(n_outputs, width))
    x = torch.randn(n_tokens, width).to(dtype)
    result = kernels.int8_linear(memory.place(x, gap=3), memory.place(weight), memory.place(scale))
    truth = reference_quantized.int8_linear(x.double(), weight, scale)
    assert_close(result, truth, tolerance(dtype, float32=2e-6))


@pytest.mark.parametrize("dtype", (torch.float32, HALF))
@pytest.mark.parametrize("group", (32, 64))
@pytest.mark.parametrize(("n_tokens", "width", "n_outputs"), SHAPES)
def test_int4(memory, dtype, group, n_tokens, width, n_outputs):
    quantized = reference_quantized.quantize_int4(torch.randn(n_outputs, width).to(dtype), group)
    x = torch.randn(n_tokens, width).to(dtype)
    result = kernels.int4_linear(memory.place(x, gap=3), *(memory.place(part) for part in quantized))
    truth = reference_quantized.int4_linear(x.double(), *quantized)
    assert_close(result, truth, tolerance(dtype, float32=2e-6))


@pytest.mark.parametrize("bits", (4, 8))
@pytest.mark.parametrize("n_tokens", (1, kernels.FEW_TOKENS, kernels.FEW_TOKENS + 1))
def test_an_operation_takes_quantized_rows_for_few_tokens_and_for_many(bits, n_tokens):
    weight = kernels.quantized(torch.randn(7, 64), bits)
    x, out = torch.randn(n_tokens, 64), torch.randn(n_tokens, 7)
    truth = out.double() + x.double() @ weight.to(torch.float64).T
    kernels.linear_add(out, x, weight)
    # Many tokens meet the weight as a matrix in bfloat16.
    assert_close(out, truth, 2e-6 if n_tokens <= kernels.FEW_TOKENS else 2e-2)


def test_int8_keeps_weights_to_half_a_step():
    weight = torch.randn(6, 40)
    weight[2] = 0
    quantized, scale = reference_quantized.quantize_int8(weight)
    assert ((quantized * scale[:, None] - weight).abs() <= 0.5 * scale[:, None] * (1 + 1e-5)).all()
    assert (quantized[2] == 0).all() and quantized.abs().max() == 127


def test_int4_keeps_weights_to_half_a_step_of_their_group():
    weight = torch.randn(6, 128) * torch.logspace(-2, 2, 128)
    packed, scale, zero = reference_quantized.quantize_int4(weight, 32)
    assert packed.shape == (6, 64) and packed.dtype == torch.uint8
    kept = reference_quantized.dequantize_int4(packed, scale, zero, torch.float32)
    steps = scale.repeat_interleave(32, dim=1)
    assert ((kept - weight).abs() <= 0.5 * steps * (1 + 1e-4)).all()


def test_int4_gives_levels_back_exactly():
    levels = torch.randint(0, 16, (3, 64))
    levels[:, ::32] = 0
    levels[:, 1::32] = 15
    weight = levels * 0.25 - 1.0
    quantized = reference_quantized.quantize_int4(weight, 32)
    assert torch.equal(reference_quantized.dequantize_int4(*quantized, torch.float32), weight)


def test_groups_that_do_not_divide_the_width_are_refused():
    with pytest.raises(ValueError, match="groups of 48 columns do not divide a width of 64"):
        reference_quantized.quantize_int4(torch.randn(2, 64), 48)
