"""Bits and bytes: what each scheme takes, and that a look at real weights rounds them as the engine does."""

import json
from itertools import pairwise

import numpy as np
import pytest
import torch

from engine.account import cost
from engine.account.bits import SCHEMES, stored
from engine.account.presets import HARDWARE
from engine.account.weight_group import ROW_TENSOR, as_int4, as_int8, from_bfloat16, read_row, to_bfloat16
from kernels import reference_quantized
from views.instruments.bits import CHECKPOINT, ROWS

Q4B = cost.PRESET_SHAPES["Qwen3.5-4B"]
H100 = HARDWARE["H100 SXM"]


@pytest.mark.parametrize(
    ("bits", "gigabytes"), [(16.0, 8.412), (8.5, 4.469), (4.5, 2.366), (4.25, 2.234), (4.0, 2.103)]
)
def test_a_4b_model_takes_what_the_facts_say_for_each_number_of_bits(bits, gigabytes):
    sizes = {scheme.bits_a_weight: stored(Q4B, scheme, H100).weight_bytes for scheme in SCHEMES}
    assert sizes[bits] == pytest.approx(gigabytes * 1e9, rel=3e-4)


def test_two_ways_to_4_and_a_half_bits_and_the_order_is_from_most_to_fewest():
    bits = [scheme.bits_a_weight for scheme in SCHEMES]
    assert bits == sorted(bits, reverse=True) and bits.count(4.5) == 2


def test_the_least_time_of_a_step_falls_with_the_bytes_of_its_weights_alone():
    rows = [stored(Q4B, scheme, H100) for scheme in SCHEMES]
    for first, second in pairwise(rows):
        saved = (first.step_bytes - second.step_bytes) / H100.bandwidth_bytes_per_s * 1e9
        assert first.step_ns - second.step_ns == pytest.approx(saved, rel=1e-6, abs=1e-3)


def test_a_row_is_read_as_the_checkpoint_holds_it():
    from safetensors.torch import load_file

    whole = load_file(CHECKPOINT)[ROW_TENSOR]
    assert len(whole) == ROWS
    for row in (0, 5, ROWS - 1):
        assert np.array_equal(read_row(CHECKPOINT, ROW_TENSOR, row), whole[row].float().numpy())


@pytest.mark.parametrize(("tensor", "row"), [("no.such", 0), (ROW_TENSOR, ROWS), ("model.norm.weight", 0)])
def test_what_is_no_row_is_refused(tensor, row):
    with pytest.raises((KeyError, ValueError)):
        read_row(CHECKPOINT, tensor, row)


def test_a_file_that_is_no_checkpoint_is_refused(tmp_path):
    bad = tmp_path / "model.safetensors"
    bad.write_bytes((7).to_bytes(8, "little") + b"not it!")
    with pytest.raises((ValueError, json.JSONDecodeError)):
        read_row(bad, ROW_TENSOR, 0)


def test_bfloat16_goes_both_ways_as_torch_does_it():
    values = torch.randn(4096, generator=torch.Generator().manual_seed(1))
    ours = to_bfloat16(values.numpy())
    assert np.array_equal(ours, values.bfloat16().float().numpy())
    assert np.array_equal(from_bfloat16(values.bfloat16().view(torch.uint16).numpy()), ours)


@pytest.mark.parametrize("row", [0, 100, 703])
def test_rounding_to_4_and_8_bits_is_the_engines_own(row):
    weights = read_row(CHECKPOINT, ROW_TENSOR, row)
    matrix = torch.from_numpy(weights.copy())[None].bfloat16()
    levels, scale, zero = reference_quantized.int4_levels(matrix, 64)
    expected = (levels[0, 0].float() - 8) * scale[0, 0].float() + zero[0, 0].float()
    back, our_scale, our_zero = as_int4(weights[:64])
    assert (our_scale, our_zero) == (float(scale[0, 0]), float(zero[0, 0]))
    assert np.allclose(back, expected.numpy(), atol=1e-7)
    in_8, row_scale = reference_quantized.quantize_int8(matrix)
    assert np.allclose(as_int8(weights)[0], (in_8[0].float() * row_scale[0]).numpy(), atol=1e-7)


def test_equal_weights_come_back_as_they_were():
    for value in (0.0, 0.25):
        group = np.full(64, value, np.float32)
        assert np.array_equal(as_int4(group)[0], group) and np.allclose(as_int8(group)[0], group)
