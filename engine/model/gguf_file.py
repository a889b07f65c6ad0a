"""Weights and metadata of a GGUF file, llama.cpp's format, read through its own package.

Known are Llama files whose weights are stored plainly (F32, F16) or in blocks of 32 along a row with a scale each: Q8_0
(scale times a signed byte), Q4_0 (scale times a nibble less 8) and Q4_1 (scale times a nibble plus a minimum), all with
fp16 scales.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gguf import GGMLQuantizationType, GGUFReader
from gguf.quants import dequantize
from numpy.typing import NDArray
from torch import Tensor

from engine.model.config_fields import CheckpointError

KNOWN_KINDS = ("F32", "F16", "Q8_0", "Q4_0", "Q4_1")

_OUTER = {
    "token_embd.weight": "embed_tokens.weight",
    "output_norm.weight": "norm.weight",
    "output.weight": "lm_head.weight",
}
_OF_BLOCK = {
    "attn_norm": "input_layernorm", "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj", "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj",
}  # fmt: skip
_BLOCK = re.compile(r"blk\.(\d+)\.(\w+)\.weight")


@dataclass(frozen=True, eq=False)
class GGUFWeight:
    """One weight as it lies in the file."""

    raw_name: str
    kind: str
    """How it is stored: one of KNOWN_KINDS."""
    blocks: NDArray[Any]
    """Its rows as stored: bytes of whole quantized blocks [rows, bytes a row], or floats [rows, columns]."""

    def read(self) -> Tensor:
        """The weight [rows, columns] (a norm's: [columns]) in float32, or float16 where it is stored so."""
        if self.kind.startswith("F"):
            return torch.from_numpy(np.array(self.blocks))
        return torch.from_numpy(dequantize(self.blocks, GGMLQuantizationType[self.kind]))


class _Reader(GGUFReader):
    """The package's reader on a plain view of the mapped file: slicing a memmap half a million times takes seconds."""

    @property  # type: ignore[override]  # an array like the other, but for its name
    def data(self) -> NDArray[Any]:
        return self._plain

    @data.setter
    def data(self, mapped: NDArray[Any]) -> None:
        self._plain = np.asarray(mapped)


class GGUFFile:
    """An opened file."""

    def __init__(self, path: Path) -> None:
        """Map the file and parse its metadata; raises CheckpointError."""
        self.path = path
        if not path.is_file():
            raise CheckpointError(f"{path} is missing")
        try:
            self._reader = _Reader(path)
        except (ValueError, KeyError, IndexError, OverflowError, UnicodeDecodeError, OSError) as error:
            raise CheckpointError(f"{path} is damaged or not a GGUF file ({error}); fetch it again") from error
        if (architecture := self.field("general.architecture")) != "llama":
            raise CheckpointError(f"{path}: the architecture is {architecture!r}; of GGUF files only 'llama' is read")

    def field(self, name: str) -> Any:
        """A metadata value; raises CheckpointError where it is missing."""
        if name not in self._reader.fields:
            raise CheckpointError(f"{self.path}: the metadata lacks {name}")
        return self._reader.fields[name].contents()

    def get(self, name: str, default: Any = None) -> Any:
        """A metadata value that may be missing."""
        return self.field(name) if name in self._reader.fields else default

    def weights(self) -> dict[str, GGUFWeight]:
        """Every weight under the name that `weights.Checkpoint` knows it by; raises CheckpointError."""
        heads = {
            "q_proj": self.field("llama.attention.head_count"),
            "k_proj": self.field("llama.attention.head_count_kv"),
        }
        found = {}
        for tensor in self._reader.tensors:
            name, kind = _name(tensor.name), tensor.tensor_type.name
            if kind not in KNOWN_KINDS:
                known = ", ".join(KNOWN_KINDS)
                raise CheckpointError(f"{self.path}: {tensor.name} is stored as {kind}; read here are {known}")
            part = name.split(".")[-2]
            rows = _halves_apart(tensor.data, heads[part]) if part in heads else tensor.data
            found[name] = GGUFWeight(tensor.name, kind, rows)
        return found


def _name(raw_name: str) -> str:
    block = _BLOCK.fullmatch(raw_name)
    if block and block[2] in _OF_BLOCK:
        return f"layers.{block[1]}.{_OF_BLOCK[block[2]]}.weight"
    return _OUTER.get(raw_name, raw_name)


def _halves_apart(rows: NDArray[Any], heads: int) -> NDArray[Any]:
    """Undo llama.cpp's order of a head's rows.

    It rotates neighbours, so its converter puts row i of the first half beside row i of the second; here, as in the
    checkpoint, a half is rotated against the other. Blocks run along rows, so they can be moved as they are.
    """
    return rows.reshape(heads, -1, 2, rows.shape[1]).swapaxes(1, 2).reshape(rows.shape)
