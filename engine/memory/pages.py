"""The KV cache: a pool of fixed-size pages, one pool for all full-attention layers.

A page holds `PAGE_SIZE` consecutive positions of one sequence, in every full-attention layer at once, so a sequence
needs one page table, not one a layer (vLLM's PagedAttention, arXiv 2309.06180, with the layers sharing the table).
Gated DeltaNet layers have no KV and take no room here.

Sequences with the same beginning may share its pages: a page counts its owners and is free when the last one leaves.
Whoever wants to write into a shared page, which can only be the last and partly filled one, gets a copy first.
"""

from __future__ import annotations

import torch
from torch import Tensor

from engine.memory.alone import put
from engine.memory.errors import OutOfMemory
from engine.memory.untouched import CPU, untouched

PAGE_SIZE = 16


def pages_for(positions: int) -> int:
    """How many pages hold that many positions."""
    return -(-positions // PAGE_SIZE)


class KVPages:
    """The pool. `keys` and `values` are `[full layers, kv heads, pages, PAGE_SIZE, head_dim]`.

    Heads are outside the pages so that one head's positions lie `[PAGE_SIZE, head_dim]` together, and gathering a
    sequence's pages for one head gives `[positions, head_dim]` without a transpose.
    """

    def __init__(
        self, n_layers: int, n_kv_heads: int, head_dim: int, n_pages: int, dtype: torch.dtype,
        device: torch.device = CPU,
    ) -> None:  # fmt: skip
        self.n_pages = n_pages
        shape = (n_layers, n_kv_heads, n_pages, PAGE_SIZE, head_dim)
        self.keys = untouched(shape, dtype, device)
        self.values = untouched(shape, dtype, device)
        # One tensor a layer, made once: indexing costs a microsecond, and a decode step is made of microseconds.
        self.layers: list[tuple[Tensor, Tensor]] = list(zip(self.keys, self.values, strict=True))
        self._free = list(range(n_pages - 1, -1, -1))
        self._owners = [0] * n_pages

    @property
    def n_free(self) -> int:
        """Pages that nobody owns."""
        return len(self._free)

    @property
    def free_pages(self) -> list[int]:
        """Numbers of the pages that nobody owns."""
        return list(self._free)

    @property
    def n_positions(self) -> int:
        """Positions that the whole pool holds."""
        return self.n_pages * PAGE_SIZE

    @property
    def bytes_per_position(self) -> int:
        """Bytes of keys and values that one position takes over all full-attention layers."""
        n_layers, n_kv_heads, _, _, head_dim = self.keys.shape
        return 2 * n_layers * n_kv_heads * head_dim * self.keys.element_size()

    def owners(self, page: int) -> int:
        """How many sequences and checkpoints own a page."""
        return self._owners[page]

    def allocate(self, count: int) -> list[int]:
        """Take `count` pages, all or none; raises OutOfMemory."""
        if count > len(self._free):
            raise OutOfMemory("KV pages", wanted=count, free=len(self._free), total=self.n_pages)
        taken = [self._free.pop() for _ in range(count)]
        for page in taken:
            self._owners[page] = 1
        return taken

    def append(self, pages: list[int], held: int, added: int) -> None:
        """Give a sequence that holds `held` positions in `pages` room for `added` more, all of it its own to write.

        Raises OutOfMemory and changes nothing.
        """
        shared = bool(held % PAGE_SIZE) and self._owners[pages[-1]] > 1
        fresh = self.allocate(pages_for(held + added) - len(pages) + shared)
        if shared:
            self._copy(pages[-1], fresh[0])
            self.free([pages.pop()])
        pages.extend(fresh)

    def share(self, pages: list[int]) -> list[int]:
        """The same pages for one more owner."""
        for page in pages:
            self._owners[page] += 1
        return list(pages)

    def free(self, pages: list[int]) -> None:
        """Give pages back; a page is free when its last owner has. What it holds stays until it is written again:
        nothing may read it.
        """
        for page in reversed(pages):
            self._owners[page] -= 1
            if not self._owners[page]:
                self._free.append(page)
        pages.clear()

    def _copy(self, source: int, target: int) -> None:
        for pool in (self.keys, self.values):
            put(pool[:, :, target], pool[:, :, source])

    def poison_free(self) -> None:
        """Fill every free page with NaN, so that a read of memory that nobody owns is seen (for tests)."""
        index = torch.tensor(self._free, dtype=torch.int64, device=self.keys.device)
        for pool in (self.keys, self.values):
            pool.index_fill_(2, index, float("nan"))
