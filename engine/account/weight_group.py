"""A few real weights of a checkpoint, and the same in 8 and 4 bits: for looking at, without torch.

Only the bytes that are asked for are read (safetensors: a length, a JSON header, then the tensors). Rounding is that of
`kernels.reference_quantized`, which a test holds it to.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

ROW_TENSOR = "model.layers.3.mlp.gate_proj.weight"


def read_row(checkpoint: Path, tensor: str, row: int) -> Floats:
    """One row [in] of a bfloat16 matrix; raises OSError, or KeyError and ValueError for a tensor that is not one."""
    with checkpoint.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        entry = json.loads(file.read(length))[tensor]
        if entry["dtype"] != "BF16" or len(entry["shape"]) != 2 or not 0 <= row < entry["shape"][0]:
            raise ValueError(f"{tensor} has no row {row} in bfloat16")
        width = entry["shape"][1]
        file.seek(8 + length + entry["data_offsets"][0] + 2 * width * row)
        return from_bfloat16(np.frombuffer(file.read(2 * width), "<u2"))


def from_bfloat16(stored: NDArray[np.uint16]) -> Floats:
    """bfloat16 is the upper half of a float32."""
    return (stored.astype("<u4") << 16).view("<f4")


def to_bfloat16(values: Floats) -> Floats:
    """Round to the nearest bfloat16, to the even one in the middle."""
    bits = values.astype("<f4").view("<u4")
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
    return rounded.astype("<u4").view("<f4")


def as_int8(row: Floats) -> tuple[Floats, float]:
    """The row as 255 levels with one scale give it back, and the scale."""
    largest = float(np.abs(row).max())
    scale = np.float32(largest / 127) if largest else np.float32(1)
    return np.rint(row / scale).astype(np.float32) * scale, float(scale)


def as_int4(group: Floats) -> tuple[Floats, float, float]:
    """The group as 16 levels between its least and its largest weight give it back, with scale and zero in bf16."""
    low, high = group.min(), group.max()
    step = to_bfloat16(np.asarray((high - low) / 15, np.float32))
    scale = step if step > 0 else np.float32(1)
    zero = to_bfloat16(np.asarray(low + 8 * step, np.float32))
    levels = np.clip(np.rint((group - zero) / scale + 8), 0, 15)
    return ((levels - 8) * scale + zero).astype(np.float32), float(scale), float(zero)
