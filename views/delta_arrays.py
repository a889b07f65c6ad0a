"""One token at one DeltaNet head, taken apart: what fades, what the key brings up, what is erased and what is written.

With S the state before the token, all in numpy:

    faded    F = e^g S                 held     h = F k
    erased   E = beta h k^T            written  W = beta v k^T            after    F - E + W
"""

from __future__ import annotations

import base64
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engine.account.kernel_records import DeltaLayer, DeltaTokens

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Step:
    """One token's work on a state, each matrix [V, K]; `decay` is e^g, the share kept."""

    before: Floats
    faded: Floats
    erased: Floats
    written: Floats
    after: Floats
    decay: float
    write_strength: float

    @property
    def likeness(self) -> float | None:
        """How like each other what is erased and what is written are, as a cosine; None where nothing is erased."""
        lengths = float(np.linalg.norm(self.erased) * np.linalg.norm(self.written))
        return float((self.erased * self.written).sum()) / lengths if lengths else None


@dataclass(frozen=True)
class HeadInputs:
    """What one head was given: keys [T, K], values [T, V], shares kept and write strengths [T]."""

    keys: Floats
    values: Floats
    decay: Floats
    write_strength: Floats


def head_inputs(record: DeltaTokens, layer: DeltaLayer, head: int) -> HeadInputs:
    """The arrays of one head."""
    n_tokens, n_heads = len(record.tokens), record.n_heads

    def unpacked(packed: str, dtype: str, *shape: int) -> Floats:
        numbers = np.frombuffer(base64.b64decode(packed), dtype=dtype).reshape(n_tokens, n_heads, *shape)
        return numbers[:, head].astype(np.float32)

    return HeadInputs(
        unpacked(layer.keys, "<f2", record.key_dim),
        unpacked(layer.values, "<f2", record.value_dim),
        unpacked(layer.decay, "<f4"),
        unpacked(layer.write_strength, "<f4"),
    )


def steps(inputs: HeadInputs) -> list[Step]:
    """Every token's step, from a state of nothing."""
    state = np.zeros((inputs.values.shape[1], inputs.keys.shape[1]), np.float32)
    taken = []
    for k, v, decay, beta in zip(inputs.keys, inputs.values, inputs.decay, inputs.write_strength, strict=True):
        faded = decay * state
        erased, written = beta * np.outer(faded @ k, k), beta * np.outer(v, k)
        after = faded - erased + written
        taken.append(Step(state, faded, erased, written, after, float(decay), float(beta)))
        state = after
    return taken
