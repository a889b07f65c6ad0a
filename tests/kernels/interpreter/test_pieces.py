"""What kernels share: finding a tile among packed sequences, the gates, and the inverse of a triangle."""

import pytest
import torch
import torch.nn.functional as F
import triton
import triton.language as tl

from kernels.triton.delta_chunk_solve import unit_lower_inverse
from kernels.triton.delta_gates import gates, log_decay_between
from kernels.triton.packing import find_tile, most_tiles, tiles_before
from tests.kernels.interpreter.closeness import assert_close


@triton.jit
def _find_tiles(bounds, out, n_sequences, TILE: tl.constexpr, MAX_SEQUENCES: tl.constexpr):
    tile = tl.program_id(0)
    sequence, begin, first, end = find_tile(bounds, n_sequences, tile, TILE, MAX_SEQUENCES)
    before = tiles_before(bounds, n_sequences, sequence, TILE, MAX_SEQUENCES)
    tl.store(out + tile * 5, sequence)
    tl.store(out + tile * 5 + 1, begin)
    tl.store(out + tile * 5 + 2, first)
    tl.store(out + tile * 5 + 3, end)
    tl.store(out + tile * 5 + 4, before)


@pytest.mark.parametrize("lengths", ([1], [16], [17], [1, 1, 1], [40, 1, 16, 33, 5]))
def test_tiles_cover_each_sequence_once_and_none_reaches_over_a_boundary(memory, lengths):
    bounds = torch.tensor([0, *lengths]).cumsum(0)
    expected = []
    for i, (begin, end) in enumerate(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)):
        before = len(expected)
        expected += [[i, begin, first, end, before] for first in range(begin, end, 16)]
    n_tiles = most_tiles(sum(lengths), len(lengths), 16)
    assert n_tiles >= len(expected)
    found = memory.place(torch.zeros(n_tiles, 5, dtype=torch.int64), may_change=True)
    _find_tiles[(n_tiles,)](
        memory.place(bounds), found, len(lengths), TILE=16, MAX_SEQUENCES=triton.next_power_of_2(len(lengths))
    )
    assert found[: len(expected)].tolist() == expected
    # Programs without a tile know it, and count all tiles as before them.
    assert all(row[0] == len(lengths) and row[4] == len(expected) for row in found[len(expected) :].tolist())


@triton.jit
def _gates(a, b, g, beta, rate, bias, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    log_decay, strength = gates(tl.load(a + at), tl.load(b + at), rate, bias)
    tl.store(g + at, log_decay)
    tl.store(beta + at, strength)


def test_gates_are_accurate_over_the_whole_range(memory):
    """Also where softplus is 1e-7 and less: a decay that close to 1 is what a state keeps for thousands of tokens."""
    a, b = torch.linspace(-80, 80, 256), torch.linspace(-90, 90, 256)
    g, beta = (memory.place(torch.zeros(256), may_change=True) for _ in range(2))
    _gates[(1,)](memory.place(a), memory.place(b), g, beta, -3.0, 0.25, BLOCK=256)
    exact = -3.0 * torch.log1p((a.double() + 0.25).exp())
    assert ((g.double().cpu() - exact).abs() <= 1e-6 * exact.abs()).all()
    assert_close(beta, b.double().sigmoid(), 1e-6)


@triton.jit
def _decays(g, out, CHUNK: tl.constexpr):
    at = tl.arange(0, CHUNK)
    tl.store(out + at[:, None] * CHUNK + at[None, :], log_decay_between(tl.load(g + at), CHUNK))


def test_decays_between_tokens_survive_a_reset_before_them(memory):
    g = -torch.rand(64)
    g[[5, 40]] = torch.tensor([-1e8, float("-inf")])
    out = memory.place(torch.zeros(64, 64), may_change=True)
    _decays[(1,)](memory.place(g), out, CHUNK=64)
    later = torch.arange(64)[:, None] > torch.arange(64)[None, :]
    exact = torch.where(later, g.double()[:, None], 0.0).cumsum(0)
    assert torch.equal(out.isinf().cpu(), exact.isinf())
    kept = ~exact.isinf()
    assert ((out.cpu().double() - exact).abs()[kept] <= 1e-6 * exact.abs()[kept]).all()


@triton.jit
def _inverse(below, out, CHUNK: tl.constexpr):
    at = tl.arange(0, CHUNK)
    here = at[:, None] * CHUNK + at[None, :]
    tl.store(out + here, unit_lower_inverse(tl.load(below + here), CHUNK))


@pytest.mark.parametrize("strength", (0.0, 0.5, 0.9, 1.0))
@pytest.mark.parametrize("keys", ("repeated", "random", "nearly repeated"))
def test_the_triangle_is_inverted_as_well_as_by_substitution(memory, strength, keys):
    k = torch.randn(64, 16) if keys == "random" else torch.randn(1, 16).expand(64, -1)
    k = F.normalize(k + (0.05 * torch.randn(64, 16) if keys == "nearly repeated" else 0), dim=-1)
    below = (strength * k @ k.T).tril(-1)
    out = memory.place(torch.zeros(64, 64), may_change=True)
    _inverse[(1,)](memory.place(below), out, CHUNK=64)
    exact = torch.linalg.solve_triangular(
        torch.eye(64, dtype=torch.float64) + below.double(), torch.eye(64, dtype=torch.float64), upper=False
    )
    assert_close(out, exact, 5e-6)
