"""Norms of heads, rotation, and the way into the pages."""

import pytest
import torch

from kernels import gpu as kernels
from kernels import reference
from tests.kernels.interpreter.closeness import HALF, assert_close, tolerance

N_PAGES, PAGE_SIZE = 5, 16
ROWS, POSITIONS = (19, 64, 3, 33), (0, 7, 100, 63)


def run(
    memory, *, heads=(3, 2), dim=64, rotary_dim=16, dtype=torch.float32, kv_dtype=None, rows=ROWS, positions=POSITIONS,
    normed=True,
):  # fmt: skip
    """The kernel on slices of one projection, and the statement in float64: queries, and what is in the cache after.

    Cache rows that are not named must not change; a negative one is a padding row.
    """
    n_heads, n_kv_heads = heads
    positions = torch.tensor(positions)[: len(rows)]
    widths = (n_heads * dim, n_kv_heads * dim, n_kv_heads * dim)
    projected = torch.randn(len(rows), sum(widths)).to(dtype)
    q_scale, k_scale = 1 + 0.3 * torch.randn(2, dim)
    table = reference.rotary_table(128, rotary_dim, 1e4)
    pools = torch.full((2, n_kv_heads, N_PAGES, PAGE_SIZE, dim), float("nan"), dtype=kv_dtype or dtype)
    owned = torch.zeros(pools.shape[1:], dtype=torch.bool)
    owned.flatten(1, 2)[:, [row for row in rows if row >= 0]] = True

    q, k, v = memory.place(projected, gap=7).split(widths, dim=1)
    keys, values = (memory.place(pool, may_change=owned) for pool in pools)
    scales = [memory.place(scale) if normed else None for scale in (q_scale, k_scale)]
    out = kernels.rotate_and_store(
        q, k, v, *scales, 1e-6, memory.place(positions), memory.place(table),
        keys, values, memory.place(torch.tensor(rows)),
    )  # fmt: skip
    # A padding row's query is still computed; in the statement it stores in a row that nobody compares.
    true_keys, true_values = pools.double()
    parts = projected.double().split(widths, dim=1)
    if normed:
        truth = reference.rotate_and_store(
            *parts, q_scale.double(), k_scale.double(), 1e-6, positions, table.double(), true_keys, true_values,
            torch.tensor(rows),
        )  # fmt: skip
    else:
        q, k, v = (x.unflatten(1, (-1, dim)) for x in parts)
        truth, k = (reference.rotate(x, positions, table.double()) for x in (q, k))
        reference.store(k, v, true_keys, true_values, torch.tensor(rows))
    stored = [(pool.cpu()[owned], true[owned]) for pool, true in ((keys, true_keys), (values, true_values))]
    return (out, truth), stored


@pytest.mark.parametrize(
    ("heads", "dim", "rotary_dim"), (((3, 2), 64, 16), ((1, 1), 256, 64), ((4, 1), 72, 72), ((2, 2), 128, 32))
)
def test_heads_and_rotated_parts(memory, heads, dim, rotary_dim):
    out, pools = run(memory, heads=heads, dim=dim, rotary_dim=rotary_dim)
    assert_close(*out, 2e-6)
    for pool in pools:
        assert_close(*pool, 2e-6)


@pytest.mark.parametrize("kv_dtype", (HALF, torch.float32))
def test_half_precision(memory, kv_dtype):
    out, pools = run(memory, dtype=HALF, kv_dtype=kv_dtype)
    assert_close(*out, tolerance(HALF, float32=2e-6))
    for pool in pools:
        assert_close(*pool, tolerance(kv_dtype, float32=2e-6))


def test_dimensions_past_the_rotated_ones_are_only_normalized(memory):
    (turned, _), _ = run(memory, rotary_dim=16)
    torch.manual_seed(0)
    (elsewhere, _), _ = run(memory, rotary_dim=16, positions=(3, 3, 3, 3))
    assert torch.equal(turned[..., 16:], elsewhere[..., 16:])
    assert not torch.isclose(turned[..., :16], elsewhere[..., :16]).all(-1).any()


def test_padding_rows_store_nothing(memory):
    out, pools = run(memory, rows=(19, -1, 3))
    assert_close(*out, 2e-6)
    for pool in pools:
        assert_close(*pool, 2e-6)


def test_heads_without_norms_are_only_rotated(memory):
    out, pools = run(memory, normed=False)
    assert_close(*out, 2e-6)
    for pool in pools:
        assert_close(*pool, 2e-6)
