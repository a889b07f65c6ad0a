"""Weights of 4 or 8 bits row by row, as the GPU kernels read them; `quantized.PackedMatrix` is the same for the CPU.

`reference_quantized` says which whole numbers stand for a weight. Here a row lies as it is: threads of a GPU that
stand side by side read bytes that lie side by side.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from kernels import reference_quantized
from kernels.quantized import ROWS_AT_ONCE, group_for


@dataclass(frozen=True)
class QuantizedRows:
    """A quantized matrix [rows, columns]; it stands where a weight tensor stands in `dispatch.OPERATIONS`."""

    numbers: Tensor
    """8 bits: int8 [rows, columns]. 4 bits: uint8 [rows, columns / 2], see `reference_quantized.quantize_int4`."""
    scale: Tensor
    """8 bits: float32 [rows]. 4 bits: bfloat16 [rows, groups]."""
    zero: Tensor | None
    """4 bits: bfloat16 [rows, groups]."""
    shape: tuple[int, int]
    bits: int
    group: int
    """Columns that share a scale; with 8 bits all."""

    @classmethod
    def pack(cls, weight: Tensor, bits: int, group: int | None = None) -> QuantizedRows:
        """Quantize a weight [rows, columns] of any float dtype, where it lies; a 4-bit `group` is by default
        `group_for` its width.

        Raises ValueError as `group_for` does.
        """
        rows, width = weight.shape
        group = width if bits == 8 else group_for(width, bits, group)
        blocks = [_quantized(block, bits, group) for block in weight.split(ROWS_AT_ONCE)]
        numbers, scale, *zero = (torch.cat(parts) for parts in zip(*blocks, strict=True))
        return cls(numbers, scale, zero[0] if zero else None, (rows, width), bits, group)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, ids: Tensor) -> Tensor:
        """Rows in float32 [n, columns], as an embedding looks them up."""
        return _meant(self.numbers[ids], self.scale[ids], None if self.zero is None else self.zero[ids])

    @property
    def nbytes(self) -> int:
        """Bytes in memory, scales included."""
        return self.numbers.nbytes + self.scale.nbytes + (0 if self.zero is None else self.zero.nbytes)

    def numel(self) -> int:
        """Weights."""
        return self.shape[0] * self.shape[1]

    def to(self, dtype: torch.dtype) -> Tensor:
        """The weights that are meant [rows, columns], computed in float32 or, if asked for, in float64."""
        return torch.cat(list(self.blocks(ROWS_AT_ONCE, dtype)))

    def blocks(self, rows: int, dtype: torch.dtype = torch.float32) -> Iterator[Tensor]:
        """The same as `to`, so many rows at a time: [n, columns] each."""
        for first in range(0, len(self), rows):
            part = slice(first, first + rows)
            zero = None if self.zero is None else self.zero[part]
            exact = torch.float64 if dtype == torch.float64 else torch.float32
            yield _meant(self.numbers[part], self.scale[part], zero, exact).to(dtype)


def _quantized(weight: Tensor, bits: int, group: int) -> tuple[Tensor, ...]:
    """Numbers and scale, and a zero with 4 bits."""
    if bits == 8:
        return reference_quantized.quantize_int8(weight)
    return reference_quantized.quantize_int4(weight.bfloat16(), group)


def _meant(numbers: Tensor, scale: Tensor, zero: Tensor | None, dtype: torch.dtype = torch.float32) -> Tensor:
    if zero is None:
        return numbers.to(dtype) * scale.to(dtype)[..., None]
    return reference_quantized.dequantize_int4(numbers, scale, zero, dtype)
