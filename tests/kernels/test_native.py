"""What only the C++ operations can get wrong."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from kernels import native
from tests.kernels.cases import EPS, attention_case, copied, delta_net_case, run


@pytest.fixture(params=[1, 2, 5])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


def test_results_do_not_depend_on_the_number_of_threads(threads: int):
    x, scale, weight = torch.randn(3, 256), torch.randn(256), torch.randn(1032, 256).bfloat16()
    net, attention = delta_net_case([9, 1, 40]), attention_case([9, 1, 40], held=[3, 80, 0], kv_dtype=torch.bfloat16)

    def results() -> list[torch.Tensor]:
        mine, cache = copied(net), copied(attention)
        outputs = [native.norm_linear(x, scale, EPS, weight), run(native.gated_delta_net, mine)]
        return [*outputs, run(native.gated_attention, cache), mine.states, cache.keys]

    several = results()
    torch.set_num_threads(1)
    for got, expected in zip(several, results(), strict=True):
        torch.testing.assert_close(got, expected, rtol=0, atol=0, equal_nan=True)


def test_thousands_of_short_parallel_loops_lose_no_row():
    """A helper that is late, or that meets the next loop, must neither skip nor repeat a chunk."""
    before = torch.get_num_threads()
    torch.set_num_threads(4)
    try:
        x, weight = torch.ones(1, 64), torch.ones(2048, 64).bfloat16()
        out = torch.zeros(1, 2048)
        for _ in range(3000):
            native.linear_add(out, x, weight)
        assert out.eq(3000 * 64).all()
    finally:
        torch.set_num_threads(before)


def test_a_transposed_input_is_refused_instead_of_misread():
    with pytest.raises(AssertionError, match="contiguous"):
        native.norm_linear(torch.randn(64, 2).T, torch.ones(64), EPS, torch.randn(8, 64))


def test_a_library_that_computes_wrongly_is_not_used(monkeypatch: pytest.MonkeyPatch):
    native._check()
    monkeypatch.setattr(native, "swiglu_linear_add", lambda out, *_: out.fill_(1.0))
    with pytest.raises(ImportError, match="compute wrongly"):
        native._check()


def test_nan_goes_through_and_is_not_hidden_by_exp():
    x = torch.full((1, 128), torch.nan)
    out = torch.zeros(1, 8)
    native.swiglu_linear_add(out, x, torch.ones(8, 64))
    assert out.isnan().all()


@pytest.mark.parametrize("size", [-1e4, -100.0, -88.0, -1e-3, 0.0, 1e-3, 88.0, 100.0, 1e4])
def test_silu_is_right_over_the_whole_range(size: float):
    out = torch.zeros(1, 1)
    native.swiglu_linear_add(out, torch.tensor([[size, 1.0]]), torch.ones(1, 1))
    torch.testing.assert_close(out[0, 0], torch.nn.functional.silu(torch.tensor(size)), rtol=1e-6, atol=1e-30)
