"""Inputs for attention: sequences at some place in their context, pages scattered over a pool that is NaN elsewhere."""

import torch

from kernels import reference

PAGE_SIZE = 16


class AttentionCase:
    """`spans` are (context before, new tokens) of each sequence; a context of -1 makes a padding row of one token."""

    def __init__(
        self, memory, spans, *, heads=(2, 1), dim=64, dtype=torch.float32, kv_dtype=None, score_scale=1.0, seed=0
    ):
        draw = torch.Generator().manual_seed(seed)

        def randn(*shape):
            return torch.randn(*shape, generator=draw)

        n_heads, n_kv_heads = heads
        n_tokens = sum(new for _, new in spans)
        lengths = [before + new for before, new in spans]
        self.bounds = torch.tensor([0, *(new for _, new in spans)]).cumsum(0)
        self.positions = torch.cat([torch.arange(before, before + new).clamp_min(0) for before, new in spans])
        n_pages = [-(-length // PAGE_SIZE) for length in lengths]
        free = torch.randperm(sum(n_pages) + 3, generator=draw).int()
        self.page_tables = torch.full((len(spans), max(max(n_pages), 1)), -1, dtype=torch.int32)
        self.q = randn(n_tokens, n_heads, dim).mul(score_scale).to(dtype)
        self.gate = randn(n_tokens, n_heads * dim).to(dtype)
        self.keys, self.values = (
            torch.full((n_kv_heads, len(free), PAGE_SIZE, dim), float("nan"), dtype=kv_dtype or dtype) for _ in range(2)
        )
        for i, (length, count) in enumerate(zip(lengths, n_pages, strict=True)):
            pages, free = free[:count], free[count:]
            self.page_tables[i, :count] = pages
            for pool in (self.keys, self.values):
                for p in range(length):
                    pool[:, pages[p // PAGE_SIZE], p % PAGE_SIZE] = randn(n_kv_heads, dim).to(pool.dtype)
        self.placed = (
            memory.place(self.q), memory.place(self.gate, gap=5), memory.place(self.keys), memory.place(self.values),
            memory.place(self.page_tables, gap=2), memory.place(self.positions), memory.place(self.bounds),
        )  # fmt: skip

    def truth(self, *, gated=True):
        """Outputs in float64."""
        # Offsets of a page that hold no position yet may hold anything: the reference must not read them either.
        floats = (self.q, self.gate, self.keys, self.values)
        places = (self.page_tables, self.positions, self.bounds)
        q, gate, keys, values = (x.double() for x in floats)
        if not gated:
            return reference.attend(q, keys, values, *places)
        return reference.paged_attention(q, gate, keys, values, *places)
