"""Weights from safetensors files or a GGUF file, each asked for once by name and shape, and none left over.

A checkpoint of the text model names its weights `model.layers.0...`, a multimodal one
`model.language_model.layers.0...`; both are known here as `layers.0...`. The drafting head (`mtp.*`) and the vision
tower (`model.visual.*`) are not computed and are passed over; any other name that nobody asks for is an error, since
it would be a part of the model left out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from engine.memory.untouched import CPU
from engine.model.config import CheckpointError, read_json

PASSED_OVER = re.compile(r"^(model\.)?(mtp|visual)\.")
PREFIXES = ("model.language_model.", "language_model.model.", "language_model.", "model.")
KNOWN_DTYPES = (torch.float32, torch.bfloat16, torch.float16)


class StoredWeight(Protocol):
    """A weight as it lies in a file: `SafetensorsWeight` here, or `gguf_file.GGUFWeight`."""

    @property
    def raw_name(self) -> str:
        """What the file calls it."""

    def read(self) -> Tensor:
        """The weight in a dtype of torch; a view of the file or a copy."""


@dataclass(frozen=True, eq=False)
class SafetensorsWeight:
    """See `StoredWeight`."""

    raw_name: str
    file: Any

    def read(self) -> Tensor:
        """A view of the file."""
        tensor: Tensor = self.file.get_tensor(self.raw_name)
        return tensor


class Checkpoint:
    """The weights of one folder. `take` what the model needs, then `finish`."""

    def __init__(self, folder: str | Path, dtype: torch.dtype, device: torch.device = CPU) -> None:
        """Open the folder's files; `dtype` is what matrices are converted to. Raises CheckpointError."""
        self._dtype = dtype
        self.device = device
        self._left = _from_gguf(Path(folder)) or _by_canonical_name(_entries(Path(folder)))
        self.bytes_taken = 0
        self.count_taken = 0

    def head(self, shape: Sequence[int], embedding: Tensor, *, tied: bool) -> Tensor:
        """The matrix that gives the logits. A tied one is the embedding, stored or not; raises CheckpointError."""
        if not tied:
            return self.matrix("lm_head.weight", shape)
        stored = self._left.pop("lm_head.weight", None)
        if stored is not None and not torch.equal(stored.read().to(embedding), embedding):
            raise CheckpointError(
                "config.json: tie_word_embeddings is true, but lm_head.weight is not embed_tokens.weight"
            )
        return embedding

    def matrix(self, name: str, shape: Sequence[int]) -> Tensor:
        """A weight that stands in a matrix product, in the dtype asked for; raises CheckpointError."""
        return self._take(name, shape, self._dtype)

    def vector(self, name: str, shape: Sequence[int]) -> Tensor:
        """A small weight (norms, gates, convolution), in float32; raises CheckpointError."""
        return self._take(name, shape, torch.float32)

    def stored(self, name: str) -> StoredWeight:
        """The weight as it lies in its file, not yet taken (a GGUF file's `blocks`); raises CheckpointError."""
        if name not in self._left:
            raise CheckpointError(f"the checkpoint lacks the weight {name}")
        return self._left[name]

    def kind(self, name: str) -> str | None:
        """How a GGUF file stores a weight that is not yet taken ("Q4_1", say); None for any other."""
        return getattr(self._left.get(name), "kind", None)

    def finish(self) -> None:
        """Raises CheckpointError naming the weights that nobody took."""
        if self._left:
            raise CheckpointError(f"unknown weights in the checkpoint: {_some(sorted(self._left))}")

    def _take(self, name: str, shape: Sequence[int], dtype: torch.dtype) -> Tensor:
        raw_name, stored = self.stored(name).raw_name, self.stored(name).read()
        del self._left[name]
        if tuple(stored.shape) != tuple(shape):
            raise CheckpointError(
                f"the weight {raw_name} has the shape {list(stored.shape)}; the config asks for {list(shape)}"
            )
        if stored.dtype not in KNOWN_DTYPES:
            raise CheckpointError(f"the weight {raw_name} is stored as {stored.dtype}, which is not read here")
        # A copy always: the stored tensor is a view of the file, and the file may be replaced while we run.
        taken = stored.to(self.device, dtype, copy=True).contiguous()
        self.bytes_taken += taken.nbytes
        self.count_taken += taken.numel()
        return taken


def _canonical(name: str) -> str:
    return next((name.removeprefix(prefix) for prefix in PREFIXES if name.startswith(prefix)), name)


def _from_gguf(folder: Path) -> dict[str, StoredWeight]:
    """The weights of the folder's GGUF file; none if it has no such file."""
    files = sorted(folder.glob("*.gguf"))
    if not files:
        return {}
    if len(files) > 1:
        raise CheckpointError(f"{folder} has {len(files)} GGUF files; keep one")
    from engine.model.gguf_file import GGUFFile  # a fifth of a second that most models need not pay

    return dict(GGUFFile(files[0]).weights())


def _by_canonical_name(weights: list[SafetensorsWeight]) -> dict[str, StoredWeight]:
    found: dict[str, StoredWeight] = {}
    for weight in weights:
        name = _canonical(weight.raw_name)
        if name in found:
            raise CheckpointError(
                f"the checkpoint has two weights for {name}: {found[name].raw_name} and {weight.raw_name}"
            )
        if not PASSED_OVER.match(weight.raw_name):
            found[name] = weight
    return found


def _entries(folder: Path) -> list[SafetensorsWeight]:
    """Every weight of the folder."""
    index, single = folder / "model.safetensors.index.json", folder / "model.safetensors"
    if not index.exists():
        return _names(single)
    listed = read_json(index).get("weight_map")
    if not isinstance(listed, dict):
        raise CheckpointError(f"{index} has no weight_map")
    entries = [entry for shard in sorted(set(listed.values())) for entry in _names(folder / shard)]
    missing = sorted(set(listed) - {weight.raw_name for weight in entries})
    if missing:
        raise CheckpointError(f"{index} lists weights that its files lack: {_some(missing)}")
    return entries


def _names(path: Path) -> list[SafetensorsWeight]:
    file = _open(path)
    return [SafetensorsWeight(name, file) for name in file.keys()]  # noqa: SIM118 (it is no dict)


def _open(path: Path) -> Any:
    if not path.is_file():
        raise CheckpointError(f"{path} is missing")
    try:
        return safe_open(str(path), framework="pt")
    except (SafetensorError, OSError) as error:
        raise CheckpointError(f"{path} is damaged or not a safetensors file ({error}); fetch it again") from error


def _some(names: list[str], most: int = 5) -> str:
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + rest
