"""Attention without output gates and head norms, against torch's own and in every implementation."""

from __future__ import annotations

from types import ModuleType

import pytest
import torch
import torch.nn.functional as F

from kernels import native, reference
from tests.kernels.cases import PlainAttentionCase, attention_case, copied, run

CASES = [
    {"lengths": [1]},
    {"lengths": [1], "held": [37], "heads": 9, "kv_heads": 3, "rotary_dim": 64},
    {"lengths": [1, 1, 1], "held": [0, 15, 16]},
    {"lengths": [20, 1, 33], "held": [5, 100, 0], "heads": 9, "kv_heads": 3, "rotary_dim": 64},
    {"lengths": [70], "heads": 6, "kv_heads": 1, "dim": 24, "rotary_dim": 24},
    {"lengths": [3, 2], "held": [1, 2], "heads": 3, "kv_heads": 3, "dim": 33, "rotary_dim": 2},
]


def test_the_specification_is_the_attention_of_torch():
    """One prompt in an empty cache: rotated halves as complex numbers, and torch's causal attention."""
    tokens, heads, kv_heads, dim = 21, 6, 2, 16
    case = attention_case([tokens], heads=heads, kv_heads=kv_heads, dim=dim, rotary_dim=dim)
    inputs = copied(PlainAttentionCase.of(case), torch.float64)
    q, k, v = inputs.projected.view(tokens, -1, dim).transpose(0, 1).split([heads, kv_heads, kv_heads])
    frequencies = 10_000.0 ** -(torch.arange(0, dim, 2, dtype=torch.float64) / dim)
    turns = torch.polar(torch.ones(()).double(), torch.arange(tokens)[:, None] * frequencies)
    q, k = (torch.complex(*x.chunk(2, dim=-1)) * turns for x in (q, k))
    q, k = (torch.cat([x.real, x.imag], dim=-1) for x in (q, k))
    expected = F.scaled_dot_product_attention(q[None], k[None], v[None], is_causal=True, enable_gqa=True)[0]
    got = run(reference.attention, inputs)
    torch.testing.assert_close(got, expected.transpose(0, 1).flatten(1), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kv_dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['lengths']} after {case.get('held', 0)}")
def test_outputs_and_cache_are_those_of_the_specification(fast: ModuleType, case: dict, kv_dtype: torch.dtype):
    inputs = PlainAttentionCase.of(attention_case(**case, kv_dtype=kv_dtype))
    given = inputs.projected.clone()
    truth, ours = copied(inputs, torch.float64), copied(inputs)
    truth.keys, truth.values = inputs.keys.clone(), inputs.values.clone()
    expected, got = run(reference.attention, truth), run(fast.attention, ours)
    # A key that float32 rounds the other way to bfloat16 is off by one part in 256.
    exact = kv_dtype == torch.float32
    for mine, theirs in ((ours.keys, truth.keys), (ours.values, truth.values)):
        torch.testing.assert_close(mine, theirs, rtol=1e-5 if exact else 1 / 128, atol=1e-5, equal_nan=True)
    close = {"rtol": 1e-5, "atol": 2e-5} if exact else {"rtol": 1e-2, "atol": 1e-2}
    torch.testing.assert_close(got.double(), expected, **close)
    assert torch.equal(ours.projected, given), "the projection is not the operation's to change"


def test_calls_are_replayed_on_what_the_tensors_hold_by_then():
    first, second = (
        PlainAttentionCase.of(attention_case([1, 1], held=[9, 30], kv_dtype=torch.bfloat16)) for _ in range(2)
    )
    expected = run(native.attention, copied(second))
    with native.record(native.Buffers()) as recording:
        out = run(native.attention, first)
    for held, given in zip(vars(first).values(), vars(second).values(), strict=True):
        held.copy_(given)
    recording.replay()
    torch.testing.assert_close(out, expected, rtol=0, atol=0)
