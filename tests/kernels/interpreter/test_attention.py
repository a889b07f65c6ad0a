"""Attention over pages: tiles of a prompt, shares of a decode step."""

import pytest
import torch

from kernels import gpu as kernels
from kernels.triton.attention_decode import attention_decode, n_splits
from kernels.triton.attention_prefill import attention_prefill
from tests.kernels.interpreter.attention_cases import AttentionCase
from tests.kernels.interpreter.closeness import HALF, assert_close, tolerance
from tests.kernels.interpreter.memory import DEVICE

# Exponentials of scores: an error of 1e-7 in a score of 10 is one of 1e-6 in its weight.
FLOAT32 = 5e-6


def check(case, kernel=kernels.paged_attention, dtype=torch.float32):
    # In half precision queries (times a scale), weights and the result are rounded.
    placed = case.placed[:6] if kernel is attention_decode else case.placed
    assert_close(kernel(*placed), case.truth(), tolerance(dtype, float32=FLOAT32, roundings=3))


@pytest.mark.parametrize("length", (1, 63, 64, 65, 127, 200))
def test_a_prompt_of_any_length(memory, length):
    check(AttentionCase(memory, [(0, length)], heads=(1, 1), seed=length), attention_prefill)


@pytest.mark.parametrize("before", (0, 15, 16, 17, 64, 127, 200))
def test_a_decode_step_at_any_place(memory, before):
    check(AttentionCase(memory, [(before, 1)], seed=before))


@pytest.mark.parametrize("spans", ([(40, 40)], [(3, 1), (100, 1)]))
@pytest.mark.parametrize(("heads", "dim"), (((4, 2), 64), ((6, 1), 128), ((2, 1), 256), ((3, 3), 72)))
def test_groups_and_widths_of_heads(memory, spans, heads, dim):
    check(AttentionCase(memory, spans, heads=heads, dim=dim))


@pytest.mark.parametrize("spans", ([(20, 70)], [(3, 1), (100, 1)]))
def test_half_precision(memory, spans):
    check(AttentionCase(memory, spans, dtype=HALF), dtype=HALF)


@pytest.mark.parametrize("spans", ([(20, 70)], [(3, 1), (100, 1)]))
def test_float32_activations_over_a_cache_in_half_precision(memory, spans):
    """The engine's own case. Products round queries and weights to the cache's dtype, no further than it is rounded."""
    check(AttentionCase(memory, spans, kv_dtype=torch.bfloat16), dtype=torch.bfloat16)


def test_several_prompts_and_steps_packed(memory):
    check(AttentionCase(memory, [(0, 5), (30, 1), (0, 66), (17, 40)]))


def test_packed_equals_separate(memory):
    case = AttentionCase(memory, [(0, 5), (30, 3), (0, 66)])
    together = kernels.paged_attention(*case.placed)
    q, gate, keys, values, tables, positions, bounds = case.placed
    for i in range(3):
        rows = slice(int(bounds[i]), int(bounds[i + 1]))
        own = torch.tensor([0, rows.stop - rows.start], device=DEVICE)
        alone = kernels.paged_attention(q[rows], gate[rows], keys, values, tables[i : i + 1], positions[rows], own)
        assert torch.equal(alone, together[rows])


@pytest.mark.parametrize("cut", (1, 64, 90))
def test_split_equals_whole(memory, cut):
    """The second piece reads the first from the cache."""
    case = AttentionCase(memory, [(0, 91)], heads=(1, 1))
    whole = kernels.paged_attention(*case.placed)
    q, gate, keys, values, tables, positions, _ = case.placed
    for rows in (slice(0, cut), slice(cut, 91)):
        own = torch.tensor([0, rows.stop - rows.start], device=DEVICE)
        piece = kernels.paged_attention(q[rows], gate[rows], keys, values, tables, positions[rows], own)
        assert_close(piece, whole[rows].double(), FLOAT32)


@pytest.mark.parametrize("scale", (0.0, 60.0))
def test_flat_and_peaked_scores(memory, scale):
    """All scores equal, or one of a few hundred that rules: neither overflows. Rounded scores cost what they are
    large.
    """
    for spans, kernel in (([(0, 70)], attention_prefill), ([(150, 1)], attention_decode)):
        case = AttentionCase(memory, spans, score_scale=scale)
        placed = case.placed[:6] if kernel is attention_decode else case.placed
        assert_close(kernel(*placed), case.truth(), FLOAT32 * (1 + scale))


@pytest.mark.parametrize("splits", (1, 2, 8, 16))
def test_any_number_of_shares_gives_the_same(memory, monkeypatch, splits):
    """Also more shares than there are positions to share, so that some are empty."""
    monkeypatch.setattr("kernels.triton.attention_decode.n_splits", lambda *_: splits)
    check(AttentionCase(memory, [(200, 1), (0, 1), (70, 1)]), attention_decode)


def test_shares_fill_a_gpu_and_are_not_tiny():
    assert n_splits(1, 4, 16) == 1
    assert n_splits(1, 4, 8192) == 64
    assert n_splits(32, 4, 8192) == 2
    assert n_splits(512, 4, 8192) == 1


def test_padding_rows_read_nothing_and_give_zero(memory):
    case = AttentionCase(memory, [(30, 1), (-1, 1), (5, 1)])
    together = kernels.paged_attention(*case.placed)
    assert (together[1] == 0).all()
    q, gate, keys, values, tables, positions, _ = case.placed
    for i in (0, 2):
        row, own = slice(i, i + 1), torch.tensor([0, 1], device=DEVICE)
        alone = kernels.paged_attention(q[row], gate[row], keys, values, tables[row], positions[row], own)
        assert torch.equal(alone, together[row])


@pytest.mark.parametrize("spans", ([(20, 70)], [(3, 1), (100, 1)]))
def test_a_layer_may_have_no_gate(memory, spans):
    case = AttentionCase(memory, spans)
    q, _, *rest = case.placed
    assert_close(kernels.paged_attention(q, None, *rest), case.truth(gated=False), FLOAT32)
