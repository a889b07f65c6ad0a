"""A model's matrices in fewer bits, packed one layer after another while the model loads.

Every matrix that stands in a product is quantized alike, the head as well: of a small model it is a third of what a
decode step reads. A tied head is also the embedding, and one packed table serves both; a second one in bfloat16 would
cost four times its bytes and change little (`benchmarks.quantized` measures both). Norms, gates and convolutions stay
in float32.

A GGUF file comes quantized, in blocks of 32 columns. Its levels are kept, so its matrices keep their blocks, and those
of 8 bits their bits: levels chosen anew for 64 columns would lose as much again as the file's maker already did.
"""

from __future__ import annotations

from typing import get_args

from torch import Tensor

from engine.account.record import WeightFormat
from engine.model.config import CheckpointError
from kernels import dispatch
from kernels.weight import Quantized, Weight

MATRICES = ("project_in", "project_out", "gate_up", "down")
"""The attributes of a layer's blocks that are a weight [out, in]."""

GGUF_BLOCK = 32
GGUF_QUANTIZED = ("Q4_0", "Q4_1", "Q8_0")

_BITS = {"int8": 8, "int4": 4}


class Quantizer:
    """Packs what it is given in the format's bits, or only puts it in order for "bf16"; counts the bytes it saves."""

    def __init__(self, weights: WeightFormat, *, body_kind: str | None = None, table_kind: str | None = None) -> None:
        """The kinds are how a GGUF file stores layers and tables. Raises CheckpointError for an unknown format."""
        if weights not in get_args(WeightFormat):
            raise CheckpointError(f"weights are kept as {', '.join(get_args(WeightFormat))}; not as {weights!r}")
        self._bits = _BITS.get(weights)
        self._body_kind, self._table_kind = body_kind, table_kind
        self.bytes_saved = 0

    def matrix(self, weight: Tensor, kind: str | None) -> Weight:
        """The weight [out, in] as it is kept."""
        if self._bits is None:
            return dispatch.arranged(weight)
        bits = 8 if kind == "Q8_0" else self._bits
        blocks = GGUF_BLOCK if kind in GGUF_QUANTIZED else None
        try:
            packed = dispatch.quantized(weight, bits, blocks)
        except ValueError as error:
            raise CheckpointError(f"the weights cannot be quantized: {error}") from error
        self.bytes_saved += weight.nbytes - packed.nbytes
        return packed

    def tables(self, embedding: Tensor, head: Tensor) -> tuple[Weight, Weight]:
        """Embedding and head [vocab, hidden] as they are kept; what was one tensor stays one."""
        kept = self.matrix(embedding, self._table_kind)
        return kept, kept if head is embedding else self.matrix(head, self._table_kind)

    def blocks(self, *blocks: object) -> None:
        """Replace the matrices of a layer's blocks by what is kept of them."""
        for block in blocks:
            for name in MATRICES:
                weight = getattr(block, name, None)
                if isinstance(weight, Tensor):
                    setattr(block, name, self.matrix(weight, self._body_kind))


def format_name(body: Weight, head: Weight) -> str:
    """What the record calls it: a dtype, "int8" (a scale a row), or "int4/64" (a scale and a zero for 64 columns)."""
    names = [
        (f"int4/{weight.group}" if weight.bits == 4 else "int8")
        if isinstance(weight, Quantized)
        else str(weight.dtype).removeprefix("torch.")
        for weight in (body, head)
    ]
    return names[0] if names[0] == names[1] else f"{names[0]}, head {names[1]}"
