"""Weights in panels: the same numbers in another order, and sums that do not depend on who shares a step."""

import pytest
import torch
from torch import Tensor

from kernels import cpu, native, reference
from kernels.panels import PanelMatrix

DTYPES = (torch.float32, torch.bfloat16)


def drawn(rows: int, width: int, dtype: torch.dtype) -> Tensor:
    return torch.randn(rows, width).to(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("panel", [8, 16, 32])
@pytest.mark.parametrize("shape", [(1, 1), (16, 3), (50, 70), (4100, 5)])
def test_a_matrix_comes_back_as_it_was(shape, panel, dtype):
    weight = drawn(*shape, dtype)
    packed = PanelMatrix.pack(weight, panel)
    ids = torch.randint(0, shape[0], (9,))
    assert torch.equal(packed.to(dtype), weight)
    assert torch.equal(packed[ids], weight[ids])
    assert (len(packed), packed.numel(), packed.nbytes) == (len(weight), weight.numel(), weight.nbytes)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("rows", "width"), [(1, 7), (40, 64), (130, 1100), (300, 30)])
def test_the_product_is_the_statement_s_for_any_number_of_tokens(rows, width, dtype, poisoned_memory):
    weight = drawn(rows, width, dtype)
    packed = PanelMatrix.pack(weight, native._library.panel_rows())
    scale = torch.rand(width) + 0.5
    for tokens in (1, 2, 3, 4, 5, 7, 12, 13, 40):
        x = torch.randn(tokens, width)
        expected = reference.norm_linear(x.double(), scale.double(), 1e-6, weight.double())
        for module in (native, cpu, reference):
            torch.testing.assert_close(
                module.norm_linear(x, scale, 1e-6, packed), expected.float(), rtol=1e-4, atol=1e-4
            )
        residual = torch.randn(tokens, rows)
        ours = residual.clone()
        native.linear_add(ours, x, packed)
        torch.testing.assert_close(ours, (residual + x.double() @ weight.double().T).float(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_token_s_numbers_do_not_depend_on_who_shares_the_step(dtype):
    # Products of one row, of a few and of many summed up in three orders, so that in bfloat16 one draw in five hundred
    # came out differently in a batch.
    packed = PanelMatrix.pack(drawn(90, 1300, dtype), native._library.panel_rows())
    gate_up, residual = torch.randn(40, 2600), torch.randn(40, 90)
    together = residual.clone()
    native.swiglu_linear_add(together, gate_up, packed)
    for size in (1, 2, 3, 4, 6, 11, 20):
        for first in range(0, 40, size):
            rows = slice(first, first + size)
            alone = residual[rows].clone()
            native.swiglu_linear_add(alone, gate_up[rows].contiguous(), packed)
            assert torch.equal(alone, together[rows])


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_embedding_looks_rows_up_in_panels(dtype):
    table, ids = drawn(77, 33, dtype), torch.tensor([0, 76, 16, 15, 8, 31])
    packed = PanelMatrix.pack(table, native._library.panel_rows())
    for module in (native, cpu, reference):
        assert torch.equal(module.embedding(ids, packed), table[ids].float())
