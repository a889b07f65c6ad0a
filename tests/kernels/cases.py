"""Random inputs for the operations, in float32 with memory beside them, and the same in float64."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from kernels import reference

EPS = 1e-6


@dataclass
class DeltaNetCase:
    """Arguments of `gated_delta_net`, in order."""

    projected: Tensor
    taps: Tensor
    decay_rate: Tensor
    dt_bias: Tensor
    norm_weight: Tensor
    eps: float
    windows: Tensor
    states: Tensor
    bounds: Tensor
    slots: Tensor


@dataclass
class AttentionCase:
    """Arguments of `gated_attention`, in order."""

    projected: Tensor
    q_scale: Tensor
    k_scale: Tensor
    eps: float
    rotary: Tensor
    keys: Tensor
    values: Tensor
    positions: Tensor
    kv_rows: Tensor
    page_tables: Tensor
    bounds: Tensor


@dataclass
class PlainAttentionCase:
    """Arguments of `attention`, in order."""

    projected: Tensor
    rotary: Tensor
    keys: Tensor
    values: Tensor
    positions: Tensor
    kv_rows: Tensor
    page_tables: Tensor
    bounds: Tensor

    @classmethod
    def of(cls, case: AttentionCase) -> PlainAttentionCase:
        """The same sequences and cache for a layer whose projection has no output gates."""
        n_kv_heads, _, _, dim = case.keys.shape
        width = case.projected.shape[1] // 2 - n_kv_heads * dim
        rest = {name: value for name, value in vars(case).items() if name in cls.__annotations__}
        return cls(**{**rest, "projected": case.projected[:, width:].contiguous()})


def delta_net_case(
    lengths: list[int],
    *,
    key_heads: int = 2,
    value_heads: int = 4,
    key_dim: int = 64,
    value_dim: int = 64,
    taps: int = 4,
    slots: list[int] | None = None,
) -> DeltaNetCase:
    """Sequences of these lengths, in slots that hold something already; slots of nobody are NaN."""
    channels = 2 * key_heads * key_dim + value_heads * value_dim
    width = channels + value_heads * value_dim + 2 * value_heads
    owned = torch.tensor(slots if slots is not None else list(range(1, len(lengths) + 1)))
    n_slots = int(owned.max()) + 2
    windows = torch.full((n_slots, taps - 1, channels), torch.nan)
    states = torch.full((n_slots, value_heads, value_dim, key_dim), torch.nan)
    windows[owned] = torch.randn(len(lengths), taps - 1, channels)
    states[owned] = 0.3 * torch.randn(len(lengths), value_heads, value_dim, key_dim)
    return DeltaNetCase(
        projected=torch.randn(sum(lengths), width),
        taps=0.5 * torch.randn(taps, channels),
        decay_rate=-torch.rand(value_heads) * 2,
        dt_bias=torch.randn(value_heads),
        norm_weight=torch.randn(value_dim),
        eps=EPS,
        windows=windows,
        states=states,
        bounds=bounds_of(lengths),
        slots=owned,
    )


def attention_case(
    lengths: list[int],
    *,
    held: list[int] | None = None,
    heads: int = 4,
    kv_heads: int = 2,
    dim: int = 64,
    rotary_dim: int = 16,
    kv_dtype: torch.dtype = torch.float32,
    page_size: int = 16,
) -> AttentionCase:
    """Sequences that hold `held` positions and add these lengths, on scattered pages; all else in the pool is NaN."""
    held = held if held is not None else [0] * len(lengths)
    totals = [before + new for before, new in zip(held, lengths, strict=True)]
    counts = [-(-total // page_size) for total in totals]
    n_pages = sum(counts) + 3
    free = torch.randperm(n_pages).tolist()
    tables = [[free.pop() for _ in range(count)] for count in counts]
    keys, values = (torch.full((kv_heads, n_pages, page_size, dim), torch.nan, dtype=kv_dtype) for _ in range(2))
    rows, positions = [], []
    for table, before, total in zip(tables, held, totals, strict=True):
        places = [table[p // page_size] * page_size + p % page_size for p in range(total)]
        for pool in (keys, values):
            pool.flatten(1, 2)[:, places[:before]] = torch.randn(kv_heads, before, dim).to(kv_dtype)
        rows += places[before:]
        positions += range(before, total)
    return AttentionCase(
        projected=torch.randn(sum(lengths), 2 * (heads + kv_heads) * dim),
        q_scale=1 + 0.5 * torch.randn(dim),
        k_scale=1 + 0.5 * torch.randn(dim),
        eps=EPS,
        rotary=reference.rotary_table(max(totals), rotary_dim, 10_000.0),
        keys=keys,
        values=values,
        positions=torch.tensor(positions),
        kv_rows=torch.tensor(rows),
        page_tables=torch.tensor([t + [-1] * (max(counts) - len(t)) for t in tables], dtype=torch.int32),
        bounds=bounds_of(lengths),
    )


def bounds_of(lengths: list[int]) -> Tensor:
    """[0, first length, ...], the running sums."""
    return torch.tensor([0, *torch.tensor(lengths).cumsum(0).tolist()])


def copied(case: Any, dtype: torch.dtype | None = None) -> Any:
    """The case with tensors of its own, floating ones in `dtype`."""
    changed = {
        name: value.to(dtype if dtype and value.is_floating_point() else value.dtype, copy=True)
        for name, value in vars(case).items()
        if isinstance(value, Tensor)
    }
    return replace(case, **changed)


def arguments(case: DeltaNetCase | AttentionCase | PlainAttentionCase) -> list[Any]:
    """The case's values in the order of the operation's parameters."""
    return list(vars(case).values())


def run(operation: Callable[..., Tensor], case: DeltaNetCase | AttentionCase | PlainAttentionCase) -> Tensor:
    """Call the operation on the case; its memory is changed."""
    return operation(*arguments(case))
