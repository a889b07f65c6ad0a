"""The specification itself, against numbers worked out by hand and laws that it must obey."""

from __future__ import annotations

import math

import torch

from kernels import reference
from tests.kernels.cases import bounds_of


def test_the_two_norm_conventions_differ_by_the_one():
    x = torch.randn(3, 8, dtype=torch.float64)
    zero = torch.zeros(8)
    assert torch.equal(reference.rms_norm(x, zero, 0.0), torch.zeros_like(x))
    centred = reference.rms_norm(x, zero, 0.0, zero_centred=True)
    torch.testing.assert_close(centred.square().mean(-1), torch.ones(3, dtype=torch.float64))


def test_a_head_decays_before_it_is_read_and_is_read_after_it_is_written():
    # One head of one number: S = 2 decays to 1; it lacks 5 - 1 = 4 of the value and takes half of that: S = 3; q = 10.
    one = torch.ones(1, 1, 1, dtype=torch.float64)
    out, state = reference.delta_rule(
        10 * one, one, 5 * one, one[0] * math.log(0.5), 0.5 * one[0], torch.full((1, 1, 1), 2.0, dtype=torch.float64)
    )
    torch.testing.assert_close(state.item(), 3.0)
    torch.testing.assert_close(out.item(), 30.0)


def test_full_write_strength_stores_a_value_that_is_read_back_exactly():
    k = torch.nn.functional.normalize(torch.randn(1, 2, 8, dtype=torch.float64), dim=-1)
    v = torch.randn(1, 2, 4, dtype=torch.float64)
    out, _ = reference.delta_rule(
        k, k, v, torch.zeros(1, 2), torch.ones(1, 2), torch.randn(2, 4, 8, dtype=torch.float64)
    )
    torch.testing.assert_close(out, v)


def test_query_key_and_value_heads_are_paired_in_groups():
    qkv = torch.arange(1, 2 * 2 * 3 + 4 * 2 + 1, dtype=torch.float64)[None]
    q, k, v = reference.split_heads(qkv, 2, 4, 2)
    assert torch.equal(q[:, 0], q[:, 1])
    assert torch.equal(k[:, 2], k[:, 3])
    assert not torch.equal(k[:, 1], k[:, 2])
    torch.testing.assert_close(k.norm(dim=-1), torch.ones(1, 4, dtype=torch.float64))
    torch.testing.assert_close(q.norm(dim=-1), torch.full((1, 4), 3**-0.5, dtype=torch.float64))
    assert v[0, 3].tolist() == [19, 20]


def test_decay_and_write_strength_stay_in_their_bounds():
    a, b = torch.tensor([[-50.0, 0.0, 50.0]]), torch.tensor([[-50.0, 0.0, 50.0]])
    g, beta = reference.decay_and_write_strength(a, b, -torch.ones(3), torch.zeros(3))
    torch.testing.assert_close(g, torch.tensor([[0.0, -math.log(2), -50.0]]))
    torch.testing.assert_close(beta, torch.tensor([[0.0, 0.5, 1.0]]))


def test_the_convolution_sees_the_window_and_leaves_the_next_one():
    x = torch.tensor([[10.0], [20.0]], dtype=torch.float64)
    windows = torch.tensor([[[1.0], [2.0], [3.0]]], dtype=torch.float64)
    taps = torch.tensor([[1.0], [0.1], [0.01], [0.001]], dtype=torch.float64)
    out = reference.causal_conv(x, taps, windows, bounds_of([2]), torch.tensor([0]))
    sums = torch.tensor([[1 + 0.2 + 0.03 + 0.01], [2 + 0.3 + 0.1 + 0.02]], dtype=torch.float64)
    torch.testing.assert_close(out, torch.nn.functional.silu(sums))
    assert windows.flatten().tolist() == [3, 10, 20]


def test_rotation_keeps_lengths_and_the_rest_of_the_head():
    table = reference.rotary_table(50, 8, 10_000.0).double()
    x = torch.randn(5, 3, 20, dtype=torch.float64)
    turned = reference.rotate(x, torch.tensor([0, 1, 7, 30, 49]), table)
    torch.testing.assert_close(turned[0], x[0])
    assert torch.equal(turned[..., 8:], x[..., 8:])
    torch.testing.assert_close(turned.norm(dim=-1), x.norm(dim=-1), rtol=1e-6, atol=0)


def test_rotated_products_depend_on_the_distance_alone():
    table = reference.rotary_table(64, 8, 10_000.0).double()
    q, k = torch.randn(1, 1, 8, dtype=torch.float64), torch.randn(1, 1, 8, dtype=torch.float64)

    def product(at_q: int, at_k: int) -> float:
        turned = [reference.rotate(x, torch.tensor([p]), table) for x, p in ((q, at_q), (k, at_k))]
        return (turned[0] * turned[1]).sum().item()

    assert math.isclose(product(12, 5), product(47, 40), rel_tol=1e-5)
    assert not math.isclose(product(12, 5), product(12, 6), rel_tol=1e-3)


def test_attention_over_one_position_gives_its_value_times_the_gate():
    keys, values = torch.randn(1, 1, 16, 4), torch.randn(1, 1, 16, 4)
    q, gate = torch.randn(1, 2, 4), torch.zeros(1, 8)
    out = reference.paged_attention(
        q, gate, keys, values, torch.tensor([[0]], dtype=torch.int32), torch.tensor([0]), bounds_of([1])
    )
    torch.testing.assert_close(out, 0.5 * values[0, 0, 0].repeat(2)[None])
