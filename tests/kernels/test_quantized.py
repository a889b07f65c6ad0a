"""Products with packed weights of 4 and 8 bits, against what the stored numbers mean, in float64."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from kernels import cpu, native, reference, reference_quantized
from kernels.quantized import PackedMatrix, group_for
from kernels.quantized_rows import QuantizedRows
from tests.kernels.cases import EPS

CLOSE = {"rtol": 1e-5, "atol": 2e-5}

SHAPES = [(256, 1032), (48, 7), (100, 64), (704, 256), (62, 1), (576, 40), (14, 33), (72, 16)]
"""Width, outputs: groups that fill vectors and groups that do not, rows that fill panels and rows that do not."""

BITS = pytest.mark.parametrize("bits", [4, 8])
TOKENS = pytest.mark.parametrize("tokens", [0, 1, 2, 3, 4, 7, 8, 15, 16, 40])


def packed(width_out: int, width_in: int, bits: int, group: int | None = None) -> PackedMatrix:
    """A random matrix whose products are of size 1."""
    return PackedMatrix.pack(torch.randn(width_out, width_in) / width_in**0.5, bits, group)


def in_whole_numbers(x: Tensor, group: int) -> Tensor:
    """Activations [T, I] as the C++ product takes them, in float64: the largest of a group is 127 steps."""
    groups = x.unflatten(1, (-1, group))
    largest = groups.abs().amax(2, keepdim=True)
    numbers = (groups.double() * torch.where(largest > 0, 127 / largest, 0).double()).round()
    return (numbers * largest.double() / 127).flatten(1)


def share(difference: Tensor, of: Tensor) -> float:
    """Root mean square of the difference, as a share of the other's."""
    return float(difference.square().mean().sqrt() / of.square().mean().sqrt())


@BITS
@TOKENS
@pytest.mark.parametrize(("width_in", "width_out"), SHAPES)
def test_a_product_is_that_of_the_whole_numbers(bits: int, tokens: int, width_in: int, width_out: int):
    weight = packed(width_out, width_in, bits)
    x, out = torch.randn(tokens, width_in), torch.randn(tokens, width_out)
    expected = out.double() + in_whole_numbers(x, weight.group) @ weight.to(torch.float64).T
    native.linear_add(out, x, weight)
    torch.testing.assert_close(out.double(), expected, **CLOSE)


@BITS
@pytest.mark.parametrize("tokens", [1, 3, 40])
@pytest.mark.parametrize("width_in", [256, 576, 704])
def test_whole_numbers_for_activations_cost_about_a_hundredth(bits: int, tokens: int, width_in: int):
    """Against the specification, which takes activations as they are."""
    weight = packed(1032, width_in, bits)
    x, scale = torch.randn(tokens, width_in), torch.randn(width_in)
    expected = reference.norm_linear(x.double(), scale.double(), EPS, weight)
    assert share(native.norm_linear(x, scale, EPS, weight) - expected, expected) < 0.015

    gate_up, out = 3 * torch.randn(tokens, 2 * width_in), torch.zeros(tokens, 1032)
    expected = reference.linear(reference.swiglu(gate_up.double()), weight)
    native.swiglu_linear_add(out, gate_up, weight)
    assert share(out - expected, expected) < 0.03, "swiglu spreads wider: the largest of a group is farther off"


@BITS
@pytest.mark.parametrize("tokens", [0, 1, 17])
@pytest.mark.parametrize(("width_in", "width_out"), SHAPES[:4])
def test_without_a_compiler_torch_computes_from_the_same_packed_weights(
    bits: int, tokens: int, width_in: int, width_out: int, poisoned_memory: None
):
    weight = packed(width_out, width_in, bits)
    x, scale = torch.randn(tokens, width_in), torch.randn(width_in)
    expected = reference.norm_linear(x.double(), scale.double(), EPS, weight)
    torch.testing.assert_close(cpu.norm_linear(x, scale, EPS, weight).double(), expected, **CLOSE)

    gate_up, out = 3 * torch.randn(tokens, 2 * width_in), torch.zeros(tokens, width_out)
    cpu.swiglu_linear_add(out, gate_up, weight)
    expected = reference.linear(reference.swiglu(gate_up.double()), weight)
    torch.testing.assert_close(out.double(), expected, **CLOSE)


@BITS
def test_a_token_gets_the_same_numbers_alone_and_in_any_company(bits: int):
    """A prompt in one piece, in chunks, or a token at a time: not a bit of difference."""
    weight, x, scale = packed(100, 576, bits), torch.randn(41, 576), torch.randn(576)
    together = native.norm_linear(x, scale, EPS, weight)
    for size in (1, 2, 3, 5, 8, 13):
        pieces = [native.norm_linear(piece.contiguous(), scale, EPS, weight) for piece in x.split(size)]
        assert torch.equal(torch.cat(pieces), together), size


@BITS
def test_results_do_not_depend_on_the_number_of_threads(bits: int):
    weight, x, scale = packed(1032, 256, bits), torch.randn(9, 256), torch.randn(256)
    before = torch.get_num_threads()
    results = []
    try:
        for threads in (1, 2, 5, 2):
            torch.set_num_threads(threads)
            results.append(native.norm_linear(x, scale, EPS, weight))
    finally:
        torch.set_num_threads(before)
    assert all(torch.equal(result, results[0]) for result in results)


@BITS
def test_every_output_row_is_written_once_and_nothing_beside_it(bits: int, poisoned_memory: None):
    weight = packed(37, 64, bits)
    out = torch.zeros(6, 37)
    native.linear_add(out[1:5], torch.ones(4, 64), weight)
    expected = reference.linear(torch.ones(4, 64).double(), weight)
    torch.testing.assert_close(out[1:5].double(), expected, **CLOSE)
    assert out[0].eq(0).all()
    assert out[5].eq(0).all()


@BITS
@pytest.mark.parametrize("size", [1e-38, 1e-31, 1e-29, 1e-12, 1.0, 1e12, 1e30])
def test_activations_of_any_size_keep_their_precision(bits: int, size: float):
    weight, x = packed(33, 128, bits), torch.randn(3, 128) * size
    out = torch.zeros(3, 33)
    native.linear_add(out, x, weight)
    expected = reference.linear(x.double(), weight)
    if size < 1e-30:
        assert out.abs().max() <= 1e-29, "what is far below everything else may count as nothing"
    else:
        assert share(out.double() - expected, expected) < 0.012


@BITS
def test_one_large_number_disturbs_its_own_group_only(bits: int):
    x = torch.randn(1, 256)
    # The columns of the large number's group meet weights of 0, and so does it: nothing may be seen of it.
    columns = torch.randn(64, 256) / 16
    columns[:, 64:128] = 0
    weight = PackedMatrix.pack(columns, bits)
    before, after = torch.zeros(1, 64), torch.zeros(1, 64)
    native.linear_add(before, x, weight)
    x[0, 70] = 1e6
    native.linear_add(after, x, weight)
    assert torch.equal(before, after)


@BITS
def test_groups_of_zeros_give_zeros(bits: int):
    weight = PackedMatrix.pack(torch.zeros(20, 128), bits)
    assert weight.to(torch.float32).eq(0).all()
    out = torch.zeros(2, 20)
    native.linear_add(out, torch.randn(2, 128), weight)
    assert out.eq(0).all()
    native.linear_add(out, torch.zeros(2, 128), packed(20, 128, bits))
    assert out.eq(0).all()


def test_a_group_of_equal_weights_keeps_their_value():
    weight = torch.full((3, 128), 0.01).bfloat16().float()
    weight[1, 64:] = -7.0
    assert torch.equal(PackedMatrix.pack(weight, 4).to(torch.float32), weight)


@BITS
@pytest.mark.parametrize("bad", [torch.nan, torch.inf, -torch.inf])
def test_what_is_not_finite_comes_out_as_nan_in_its_own_token_only(bits: int, bad: float):
    weight, x = packed(20, 128, bits), torch.randn(3, 128)
    x[1, 77] = bad
    out = torch.zeros(3, 20)
    native.linear_add(out, x, weight)
    assert out[1].isnan().all()
    assert out[[0, 2]].isfinite().all()


@pytest.mark.parametrize(
    ("width", "rows", "group"), [(64, 16, 64), (576, 40, 64), (100, 7, 50), (30, 33, 6), (48, 1, 48)]
)
def test_packing_keeps_every_level_scale_and_zero(width: int, rows: int, group: int):
    weight = torch.randn(rows, width)
    expected = reference_quantized.dequantize_int4(
        *reference_quantized.quantize_int4(weight.bfloat16(), group), torch.float32
    )
    assert torch.equal(PackedMatrix.pack(weight, 4, group).to(torch.float32), expected)
    numbers, scale = reference_quantized.quantize_int8(weight)
    assert torch.equal(PackedMatrix.pack(weight, 8, group).to(torch.float32), numbers * scale[:, None])


def test_a_matrix_of_many_rows_is_packed_piece_by_piece_into_the_same(monkeypatch: pytest.MonkeyPatch):
    weight = torch.randn(100, 64)
    whole = PackedMatrix.pack(weight, 4)
    monkeypatch.setattr("kernels.quantized.ROWS_AT_ONCE", 32)
    assert torch.equal(PackedMatrix.pack(weight, 4).data, whole.data)
    assert torch.equal(PackedMatrix.pack(weight, 4).to(torch.float32), whole.to(torch.float32))


def test_four_and_a_half_bits_a_weight_and_a_float_a_row():
    assert PackedMatrix.pack(torch.randn(64, 576), 4).nbytes * 8 == 64 * 576 * 4.5
    assert PackedMatrix.pack(torch.randn(64, 576), 8).nbytes == 64 * 576 + 64 * 4


@BITS
@pytest.mark.parametrize(("width", "rows"), [(256, 40), (100, 33), (14, 16)])
def test_a_token_looks_up_its_row(bits: int, width: int, rows: int):
    table, ids = packed(rows, width, bits), torch.tensor([0, 7, rows - 1, 7, 15])
    expected = table.to(torch.float32)[ids]
    for module in (native, cpu, reference):
        torch.testing.assert_close(module.embedding(ids, table), expected, rtol=1e-6, atol=1e-7)
        assert module.embedding(ids[:0], table).shape == (0, width)


@pytest.mark.parametrize("wrong", [-1, 40])
@pytest.mark.parametrize("table", [torch.randn(40, 64), torch.randn(40, 64).bfloat16(), packed(40, 64, 4)])
def test_an_id_without_a_row_is_refused(table: Tensor | PackedMatrix, wrong: int):
    with pytest.raises(IndexError):
        native.embedding(torch.tensor([3, wrong]), table)


@pytest.mark.parametrize(
    ("width", "four", "eight"),
    [(576, 64, 32), (256, 64, 32), (704, 64, 32), (100, 50, 20), (62, 62, 2), (96, 48, 32), (14, 14, 14)],
)
def test_the_group_is_the_largest_that_divides_the_width(width: int, four: int, eight: int):
    assert (group_for(width, 4), group_for(width, 8)) == (four, eight)


@pytest.mark.parametrize("kept_as", [PackedMatrix, QuantizedRows])
def test_what_cannot_be_packed_is_said(kept_as: type[PackedMatrix | QuantizedRows]):
    with pytest.raises(ValueError, match="4 or 8 bits, not 3"):
        kept_as.pack(torch.randn(2, 64), 3, 32)
    with pytest.raises(ValueError, match="groups of 48 columns do not divide a width of 64"):
        kept_as.pack(torch.randn(2, 64), 4, 48)
    with pytest.raises(ValueError, match="a width of 31 has no even group"):
        kept_as.pack(torch.randn(2, 31), 4)


@BITS
def test_rows_for_a_gpu_and_panels_for_a_cpu_stand_for_the_same_weights(bits: int):
    weight = torch.randn(37, 96)
    rows, panels = QuantizedRows.pack(weight, bits), PackedMatrix.pack(weight, bits)
    ids = torch.tensor([36, 0, 5, 5])
    assert torch.equal(rows.to(torch.float32), panels.to(torch.float32))
    assert torch.equal(rows[ids], panels[ids])
    assert (len(rows), rows.numel(), rows.bits) == (37, 37 * 96, bits)
    assert rows.nbytes == sum(one.nbytes for one in (rows.numbers, rows.scale, rows.zero) if one is not None)
    assert QuantizedRows.pack(torch.randn(64, 576), 4).nbytes * 8 == 64 * 576 * 4.5
