"""What a trace tells of a state: how long each head keeps what it wrote, and what every token faded, erased and wrote.

The delta rule (Yang and others, 2024) for one token with key k of unit length, value v, decay a and write strength b:

    S <- a S;    S <- S - b (S k) k^T + b v k^T

A trace holds decay and write strength of every head, and one head's S after every token, but no keys. They need not be
there: S - a S_before is one column times k^T, so the direction in which it is largest is k up to the sign.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.account.trace_record import TraceRecord
from views.trace_arrays import head_gates, state_frames

SMALLEST_DECAY = 6e-8
"""The smallest number that half precision tells from 0; decays travel in it."""
LONGEST_HALF_LIFE = 1400.0
"""Beyond it a decay is rounded to 1 in half precision, and the half-life cannot be told."""
ITERATIONS = 12
CLEAR = 3.0
"""How far above the rounding of two frames a change must stand to be taken apart."""


@dataclass(frozen=True)
class HeadKeeps:
    """One head of a model: `half_life` tokens after which decay alone has halved what was written; at most the longest
    that can be told.
    """

    layer: int
    head: int
    half_life: float

    def share_after(self, n_tokens: int) -> float:
        """What decay alone leaves of a write after so many tokens, in [0, 1]; later writes can erase more."""
        return float(0.5 ** (n_tokens / self.half_life))


@dataclass(frozen=True)
class Change:
    """What one token did to a head's state, as lengths (Frobenius norms); None where rounding hides it."""

    token_index: int
    before: float
    """Length of the state that the token found."""
    faded: float
    erased: float | None
    written: float | None


def heads_keep(trace: TraceRecord) -> list[HeadKeeps]:
    """Every DeltaNet head, by layer: the half-life that its mean log decay over the trace's tokens gives."""
    kept = []
    for gates in trace.gates:
        for head in range(gates.heads):
            decay = head_gates(trace, gates.layer, head).decay.astype(np.float64)
            rate = -np.log(np.clip(decay, SMALLEST_DECAY, 1.0)).mean()
            half_life = np.log(2) / rate if rate > np.log(2) / LONGEST_HALF_LIFE else LONGEST_HALF_LIFE
            kept.append(HeadKeeps(gates.layer, head, float(half_life)))
    return kept


def changes(trace: TraceRecord) -> list[Change]:
    """What each token did to the traced head; nothing where not every token's state was kept."""
    state = trace.state
    if state.stride != 1:
        return []
    gates = head_gates(trace, state.layer, state.head)
    frames = state_frames(state).astype(np.float64)
    found = np.concatenate([np.zeros_like(frames[:1]), frames[:-1]])
    scales = [0.0, *state.scales]
    told = []
    for i, (before, after) in enumerate(zip(found, frames, strict=True)):
        decay, strength = float(gates.decay[i]), float(gates.write_strength[i])
        erased, written = _taken_apart(decay * before, after, strength, _noise(decay * scales[i], scales[i + 1]))
        length = float(np.linalg.norm(before))
        told.append(Change(i, length, (1 - decay) * length, erased, written))
    return told


def _noise(*steps: float) -> float:
    """Deviation of a number that is a difference of two, each rounded to a multiple of its step."""
    return float(np.sqrt(sum(step * step for step in steps) / 12))


def _taken_apart(
    faded: np.ndarray, after: np.ndarray, strength: float, noise: float
) -> tuple[float | None, float | None]:
    """Lengths of what was erased and what was written, from the state before the write and after it, [V, K] each."""
    change = after - faded
    key = _main_direction(change)
    column = change @ key
    # A matrix of independent errors has singular values up to about their deviation times this (Bai and Yin, 1993).
    hidden = noise * sum(np.sqrt(change.shape))
    if np.linalg.norm(column) <= CLEAR * hidden:
        return None, None
    erased = strength * (faded @ key)
    return float(np.linalg.norm(erased)), float(np.linalg.norm(column + erased))


def _main_direction(change: np.ndarray) -> np.ndarray:
    """The unit vector [K] along which a matrix [V, K] is largest, by power iteration; beside it is only noise."""
    key = change[np.argmax(np.square(change).sum(axis=1))]
    for _round in range(ITERATIONS):
        key = change.T @ (change @ key)
        key = key / max(float(np.linalg.norm(key)), 1e-30)
    return key


def longest(heads: Sequence[HeadKeeps]) -> HeadKeeps:
    """The head that keeps longest."""
    return max(heads, key=lambda one: one.half_life)
