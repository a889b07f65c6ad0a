"""Weights of 4 or 8 bits, in the order in which the C++ products read them.

`reference_quantized` says which whole numbers stand for a weight; here they are packed. Sixteen rows make a panel, and
a panel is one stretch of memory: group of columns after group, eight (or four) columns of all sixteen rows in 64 bytes.
So a product reads memory from end to end, and a vector holds a number of each of sixteen rows, with nothing to be added
up across it. `cpp/quantized.h` has the layout byte by byte.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from kernels import reference_quantized

PANEL = 16
"""Rows of a panel."""

LARGEST_GROUP = {4: 64, 8: 32}
"""By bits, columns that share a scale, of the activations as well. With 4 bits, 64 make 4.5 bits a weight with scale
and zero. With 8 bits only the activations have groups, and small ones cost time and no memory."""

ROWS_AT_ONCE = 2048
"""Rows that are packed or unpacked at a time: a head has a quarter of a million, and the steps in between are large."""


@dataclass(frozen=True)
class PackedMatrix:
    """A matrix [rows, columns] of quantized weights; it stands where a weight tensor stands in `dispatch.OPERATIONS`.

    `bits` 8: one scale a row, in float32. `bits` 4: a scale and a zero for every `group` columns of a row, in bfloat16.
    With 8 bits, `group` only says how many columns of the activations share a scale in the product.
    """

    data: Tensor
    """uint8 [panels, bytes of a panel]."""
    shape: tuple[int, int]
    bits: int
    group: int

    @classmethod
    def pack(cls, weight: Tensor, bits: int, group: int | None = None) -> PackedMatrix:
        """Quantize and pack a weight [rows, columns] of any float dtype; `group` is by default `group_for` its width.

        Raises ValueError for bits other than 4 and 8, and for a group that is odd or does not divide the width.
        """
        rows, width = weight.shape
        group = group_for(width, bits, group)
        data = torch.empty(-(-rows // PANEL), _panel_bytes(width, bits, group), dtype=torch.uint8)
        for first in range(0, rows, ROWS_AT_ONCE):
            block = weight[first : first + ROWS_AT_ONCE]
            pack = _pack_int4 if bits == 4 else _pack_int8
            data[first // PANEL : -(-(first + len(block)) // PANEL)] = pack(block, group)
        return cls(data, (rows, width), bits, group)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, ids: Tensor) -> Tensor:
        """Rows in float32 [n, columns], as an embedding looks them up."""
        if not len(ids):
            return torch.empty(0, self.shape[1])
        panels = self.data[ids // PANEL]
        within = (ids % PANEL)[:, None, None]
        return self._unpacked(panels).gather(1, within.expand(-1, 1, self.shape[1]))[:, 0]

    @property
    def nbytes(self) -> int:
        """Bytes in memory, scales included, and rows that fill the last panel."""
        return self.data.nbytes

    def numel(self) -> int:
        """Weights, without those that only fill up."""
        return self.shape[0] * self.shape[1]

    def to(self, dtype: torch.dtype) -> Tensor:
        """The weights that are meant [rows, columns], computed in float32 or, if asked for, in float64."""
        return torch.cat(list(self.blocks(ROWS_AT_ONCE, dtype)))

    def blocks(self, rows: int, dtype: torch.dtype = torch.float32) -> Iterator[Tensor]:
        """The same as `to`, about so many rows at a time: [n, columns] each."""
        step = max(1, rows // PANEL)
        for first in range(0, len(self.data), step):
            block = self._unpacked(self.data[first : first + step], dtype).flatten(0, 1)
            yield block[: self.shape[0] - first * PANEL]

    def _unpacked(self, panels: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
        """Panels [n, bytes] -> weights [n, 16, columns]."""
        unpack = _unpack_int4 if self.bits == 4 else _unpack_int8
        return unpack(panels, self.shape[1], self.group, dtype)


def group_for(width: int, bits: int, wanted: int | None = None) -> int:
    """The group that is wanted, or the largest even one for the bits that divides the width (64 for 576).

    Raises ValueError for bits other than 4 and 8, and for a group that is odd or does not divide the width.
    """
    if bits not in LARGEST_GROUP:
        raise ValueError(f"weights are packed in 4 or 8 bits, not {bits}")
    if wanted and (wanted % 2 or width % wanted):
        raise ValueError(f"groups of {wanted} columns do not divide a width of {width} evenly, or have no halves")
    for group in (wanted,) if wanted else range(LARGEST_GROUP[bits], 0, -2):
        if width % group == 0:
            return group
    raise ValueError(f"a width of {width} has no even group that divides it")


def _filled(group: int) -> int:
    """Columns that a group takes in memory: vectors hold eight."""
    return -(-group // 8) * 8


def _panel_bytes(width: int, bits: int, group: int) -> int:
    numbers = PANEL * _filled(group) * bits // 8
    return width // group * (numbers + 4 * PANEL) if bits == 4 else width // group * numbers + 4 * PANEL


def _in_panels(x: Tensor) -> Tensor:
    """Rows [R, ...] -> [panels, 16, ...], the last one filled up with zeros."""
    if short := -len(x) % PANEL:
        x = torch.cat([x, x.new_zeros(short, *x.shape[1:])])
    return x.view(len(x) // PANEL, PANEL, *x.shape[1:])


def _quads(numbers: Tensor) -> Tensor:
    """Bytes [R, groups, group] -> int32 [panels, groups, quads, 16]: four columns each, sixteen rows side by side."""
    group = numbers.shape[2]
    if short := _filled(group) - group:
        numbers = torch.nn.functional.pad(numbers, (0, short))
    return _in_panels(numbers).contiguous().view(torch.int32).permute(0, 2, 3, 1)


def _bytes(x: Tensor, dims: int) -> Tensor:
    """The bytes of x as they shall lie in memory: its first dimensions, then all others as one."""
    return x.contiguous().view(torch.uint8).flatten(dims)


def _rows(quads: Tensor, group: int) -> Tensor:
    """The opposite of `_quads`: int32 [panels, groups, quads, 16] -> bytes [panels, 16, groups, group]."""
    return quads.permute(0, 3, 1, 2).contiguous().view(torch.uint8)[..., :group]


def _pack_int8(weight: Tensor, group: int) -> Tensor:
    numbers, scale = reference_quantized.quantize_int8(weight)
    return torch.cat([_bytes(_in_panels(scale), 1), _bytes(_quads(numbers.unflatten(1, (-1, group))), 1)], dim=1)


def _unpack_int8(panels: Tensor, width: int, group: int, dtype: torch.dtype) -> Tensor:
    scale = panels[:, : 4 * PANEL].contiguous().view(torch.float32)
    numbers = panels[:, 4 * PANEL :].contiguous().view(len(panels), width // group, _filled(group) // 4, 4 * PANEL)
    quads = numbers.view(torch.int32)
    return _rows(quads, group).view(torch.int8).flatten(2).to(dtype) * scale[..., None].to(dtype)


def _pack_int4(weight: Tensor, group: int) -> Tensor:
    levels, scale, zero = reference_quantized.int4_levels(weight.bfloat16(), group)
    quads = _quads(levels)
    numbers = _bytes(quads[:, :, 0::2] | quads[:, :, 1::2] << 4, 2)
    head = torch.cat([_in_panels(x).transpose(1, 2) for x in (scale, zero)], dim=2)
    return torch.cat([_bytes(head, 2), numbers], dim=2).flatten(1)


def _unpack_int4(panels: Tensor, width: int, group: int, dtype: torch.dtype) -> Tensor:
    blocks = panels.view(len(panels), width // group, _panel_bytes(group, 4, group))
    head = blocks[..., : 4 * PANEL].contiguous().view(torch.bfloat16).to(dtype)
    scale, zero = (x.transpose(1, 2)[..., None] for x in head.split(PANEL, dim=2))
    pairs = blocks[..., 4 * PANEL :].unflatten(2, (_filled(group) // 8, 4 * PANEL)).contiguous().view(torch.int32)
    levels = torch.stack([pairs & 0x0F0F0F0F, pairs >> 4 & 0x0F0F0F0F], dim=3).flatten(2, 3)
    return ((_rows(levels, group).to(dtype) - 8) * scale + zero).flatten(2)
