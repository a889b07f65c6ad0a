"""Weights in float32 or bfloat16, in the order in which the C++ products read them.

`PANEL` rows make a panel, and a panel is one stretch of memory: column after column, each column's numbers of all rows
side by side. So a product reads memory from end to end, a vector holds a number of each of many rows, and nothing has
to be transposed or added up across a vector while tokens wait. Every sum runs through the columns in their order, for
one token as for many: what a token gets does not depend on who shares its step. `cpp/panels.h` has the layout.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

ROWS_AT_ONCE = 4096
"""Rows that are turned back into a plain matrix at a time."""


@dataclass(frozen=True)
class PanelMatrix:
    """A matrix [rows, columns] in panels; it stands where a weight tensor stands in `dispatch.OPERATIONS`."""

    data: Tensor
    """[panels, columns, rows of a panel], float32 or bfloat16; rows that only fill up the last panel are zeros."""
    shape: tuple[int, int]

    @classmethod
    def pack(cls, weight: Tensor, panel: int) -> PanelMatrix:
        """A weight [rows, columns] in panels of so many rows, an even number."""
        rows, width = weight.shape
        if short := -rows % panel:
            weight = torch.cat([weight, weight.new_zeros(short, width)])
        by_panel = weight.view(-1, panel, width)
        if weight.dtype == torch.bfloat16:
            # Rows r and r + half of a column make one 32-bit word.
            by_panel = by_panel.unflatten(1, (2, panel // 2)).transpose(1, 2).flatten(1, 2)
        return cls(by_panel.transpose(1, 2).contiguous(), (rows, width))

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, ids: Tensor) -> Tensor:
        """Rows [n, columns], as an embedding looks them up."""
        panel = self.data.shape[2]
        within = ids % panel
        if self.dtype == torch.bfloat16:
            within = within % (panel // 2) * 2 + within // (panel // 2)
        return self.data[ids // panel, :, within]

    @property
    def dtype(self) -> torch.dtype:
        """That of the numbers as they are stored."""
        return self.data.dtype

    @property
    def nbytes(self) -> int:
        """Bytes of the weights; those that fill up the last panel are not counted, since no formula would."""
        return self.numel() * self.data.itemsize

    def numel(self) -> int:
        """Weights, without those that only fill up."""
        return self.shape[0] * self.shape[1]

    def to(self, dtype: torch.dtype) -> Tensor:
        """The plain matrix [rows, columns]."""
        return torch.cat(list(self.blocks(ROWS_AT_ONCE, dtype)))

    def blocks(self, rows: int, dtype: torch.dtype = torch.float32) -> Iterator[Tensor]:
        """The same, about so many rows at a time: [n, columns] each."""
        panel = self.data.shape[2]
        step = max(1, rows // panel)
        for first in range(0, len(self.data), step):
            block = self.data[first : first + step].transpose(1, 2)
            if self.dtype == torch.bfloat16:
                block = block.unflatten(1, (panel // 2, 2)).transpose(1, 2).flatten(1, 2)
            yield block.flatten(0, 1)[: self.shape[0] - first * panel].to(dtype)
