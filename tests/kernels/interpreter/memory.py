"""Tensors with NaN all around, so that reading past them spoils the result and writing past them is seen."""

import math
import os

import torch

DEVICE = "cpu" if os.environ.get("TRITON_INTERPRET") == "1" else "cuda"

_GUARD = 64
_BITS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


class GuardedMemory:
    """Hands out tensors that lie in larger buffers, and knows which of their elements may change."""

    def __init__(self):
        self._buffers = []
        self._torch_empty = torch.empty

    def empty(self, *shape, dtype=None, device=None):
        """In the place of `torch.empty`: full of NaN, or of a number that no kernel would write."""
        shape = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
        return self._take(tuple(shape), dtype or torch.float32, device or DEVICE, gap=0, may_change=True)

    def place(self, tensor, *, gap=0, may_change=False):
        """A copy on the device, with `gap` elements between rows; `may_change` is a mask of what may be written."""
        placed = self._take(tuple(tensor.shape), tensor.dtype, DEVICE, gap, may_change)
        placed.copy_(tensor)
        buffer, before, _ = self._buffers[-1]
        before.copy_(buffer)
        return placed

    def _take(self, shape, dtype, device, gap, may_change):
        width = shape[-1] if shape else 1
        rows = math.prod(shape[:-1])
        buffer = self._torch_empty(2 * _GUARD + rows * (width + gap), dtype=dtype, device=device)
        self._poison(buffer)
        free = torch.zeros(len(buffer), dtype=torch.bool, device=device)

        def view(flat):
            return flat[_GUARD : len(flat) - _GUARD].view(rows, width + gap)[:, :width].view(*shape[:-1], width)

        view(free).copy_(torch.as_tensor(may_change, device=device))
        self._buffers.append((buffer, buffer.clone(), free))
        return view(buffer)

    def _poison(self, buffer):
        """Fill with NaN of a payload that no other buffer has, so that a copied NaN is a change; integers likewise."""
        mark = 1 + len(self._buffers) % 120 + (100_000 if buffer.dtype in (torch.int32, torch.int64) else 0)
        if buffer.is_floating_point():
            buffer.fill_(float("nan"))
            mark = mark | buffer[:1].view(_BITS[buffer.element_size()]).item()
        buffer.view(_BITS[buffer.element_size()]).fill_(mark)

    def check(self):
        """No element outside of what may change has another bit than at first."""
        for buffer, before, free in self._buffers:
            bits = _BITS[buffer.element_size()]
            changed = (buffer.view(bits) != before.view(bits)) & ~free
            assert not changed.any(), f"{int(changed.sum())} elements were written that are not the kernel's"
