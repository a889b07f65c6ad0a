"""The chunked delta rule: equal to the token-by-token statement, however the tokens come in."""

import pytest
import torch

from kernels import gpu as kernels
from kernels.triton.delta_chunks import chunked_delta_rule
from tests.kernels.interpreter.closeness import HALF, assert_close, tolerance
from tests.kernels.interpreter.delta_cases import GATES, DeltaCase
from tests.kernels.interpreter.memory import DEVICE

# Sums over 64 tokens and products of three matrices; on a GPU they are made of three tf32 products (2^-21).
FLOAT32 = 1e-5


def check(case, dtype=torch.float32):
    # Between the kernels u, W and the chunk's first states are stored in the activations' dtype; then the result is.
    limit = tolerance(dtype, float32=FLOAT32, roundings=4)
    truth, states = case.truth()
    assert_close(chunked_delta_rule(*case.placed), truth, limit)
    assert_close(case.states_after, states, limit)


@pytest.mark.parametrize("length", (1, 63, 64, 65, 127, 200))
def test_one_sequence_of_any_length(memory, length):
    check(DeltaCase(memory, [length], seed=length))


@pytest.mark.parametrize("length", (1, 65, 127))
def test_half_precision(memory, length):
    check(DeltaCase(memory, [length], dtype=HALF, decay_rate=torch.tensor([-0.3])), HALF)


@pytest.mark.parametrize(
    ("heads", "dims"), (((2, 2), (64, 64)), ((1, 3), (32, 16)), ((1, 1), (128, 128)), ((2, 4), (24, 40)))
)
def test_heads_and_widths(memory, heads, dims):
    check(DeltaCase(memory, [70], heads=heads, dims=dims))


@pytest.mark.parametrize("gates", GATES)
def test_extreme_gates(memory, gates):
    check(DeltaCase(memory, [100], gates=gates, seed=3))


@pytest.mark.parametrize("rate", (0.0, -16.0))
def test_decay_rates_at_both_ends(memory, rate):
    check(DeltaCase(memory, [100], decay_rate=torch.tensor([rate])))


@pytest.mark.parametrize("rate", (0.0, -0.01))
@pytest.mark.parametrize("strength", ("ordinary", "everything is overwritten"))
def test_the_same_token_again_and_again(memory, rate, strength):
    """Equal keys make the system that a chunk solves as hard as it gets: inverting it by powers fails here by 10^9."""
    check(DeltaCase(memory, [128], repeated=True, gates=strength, decay_rate=torch.tensor([rate])))


@pytest.mark.parametrize("seed", range(4))
def test_random_lengths_packed(memory, seed):
    draw = torch.Generator().manual_seed(seed)
    n_sequences = int(torch.randint(2, 6, (1,), generator=draw))
    check(DeltaCase(memory, torch.randint(1, 90, (n_sequences,), generator=draw).tolist(), heads=(1, 1), seed=seed))


def test_packed_equals_separate(memory):
    lengths = [66, 1, 20]
    together, apart = DeltaCase(memory, lengths), DeltaCase(memory, lengths)
    out = kernels.gated_delta_rule(*together.placed)
    qkv, a, b, rate, bias, states, bounds, slots, n_key_heads = apart.placed
    for i, length in enumerate(lengths):
        rows = slice(int(bounds[i]), int(bounds[i + 1]))
        own = torch.tensor([0, length], device=DEVICE)
        alone = chunked_delta_rule(qkv[rows], a[rows], b[rows], rate, bias, states, own, slots[i : i + 1], n_key_heads)
        assert torch.equal(alone, out[rows])
    assert torch.equal(apart.states_after, together.states_after)


@pytest.mark.parametrize("cuts", ([1], [63], [64], [65], [30, 31, 100]))
def test_split_equals_whole(memory, cuts):
    """The state continued over pieces, some of them one token that goes the way of a decode step."""
    whole, pieces = (DeltaCase(memory, [110], heads=(1, 1), decay_rate=torch.tensor([-0.1])) for _ in range(2))
    out = chunked_delta_rule(*whole.placed)
    qkv, a, b, rate, bias, states, _, slots, n_key_heads = pieces.placed
    parts = []
    for begin, end in zip([0, *cuts], [*cuts, 110], strict=True):
        own = torch.tensor([0, end - begin], device=DEVICE)
        rows = slice(begin, end)
        parts.append(kernels.gated_delta_rule(qkv[rows], a[rows], b[rows], rate, bias, states, own, slots, n_key_heads))
    assert_close(torch.cat(parts), out.double(), FLOAT32)
    assert_close(pieces.states_after, whole.states_after.double(), FLOAT32)


def test_token_by_token_equals_chunks(memory):
    narrow = {"heads": (1, 1), "dims": (32, 8), "decay_rate": torch.tensor([-0.1])}
    chunked, stepped = (DeltaCase(memory, [67], **narrow) for _ in range(2))
    out = chunked_delta_rule(*chunked.placed)
    qkv, a, b, rate, bias, states, _, slots, n_key_heads = stepped.placed
    own = torch.tensor([0, 1], device=DEVICE)
    steps = [
        kernels.gated_delta_rule(
            qkv[t : t + 1], a[t : t + 1], b[t : t + 1], rate, bias, states, own, slots, n_key_heads
        )
        for t in range(67)
    ]
    assert_close(torch.cat(steps), out.double(), FLOAT32)
    assert_close(stepped.states_after, chunked.states_after.double(), FLOAT32)


def test_padding_sequences_touch_nothing_and_read_as_zero(memory):
    case = DeltaCase(memory, [1, 70, 3], slots=[-1, 2, -1])
    out = chunked_delta_rule(*case.placed)
    assert (out[[0, 71, 72, 73]] == 0).all()
    alone = DeltaCase(memory, [1, 70, 3], slots=[4, 2, 5])
    assert torch.equal(out[1:71], chunked_delta_rule(*alone.placed)[1:71])
    assert torch.equal(case.placed[5][2], alone.placed[5][2])
