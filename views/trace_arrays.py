"""The arrays of an instrumented trace, unpacked from the text that they travel as."""

from __future__ import annotations

import base64
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engine.account.trace_record import LayerGates, PassTimes, StateTrace, TraceRecord

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class HeadGates:
    """What one head does at each token, both [tokens]: the share of the state it keeps, and how strongly it writes."""

    decay: Floats
    write_strength: Floats


def head_gates(trace: TraceRecord, layer: int, head: int) -> HeadGates:
    """Decay and write strength of one head; raises KeyError for a layer that keeps no state."""
    gates = {one.layer: one for one in trace.gates}[layer]
    return HeadGates(_column(gates, gates.decay, head), _column(gates, gates.write_strength, head))


def mean_kept_shares(trace: TraceRecord, layer: int) -> list[float]:
    """How much of its state each head of a layer keeps at a token, averaged over the tokens: [heads]."""
    gates = {one.layer: one for one in trace.gates}[layer]
    decay = np.frombuffer(base64.b64decode(gates.decay), dtype="<f2").reshape(-1, gates.heads)
    return [float(share) for share in decay.astype(np.float32).mean(axis=0)]


def state_frames(state: StateTrace) -> Floats:
    """The head's state after each kept token: [frames, values, keys]."""
    shape = (len(state.token_indices), state.values, state.keys)
    small = np.frombuffer(base64.b64decode(state.frames), dtype=np.int8).reshape(shape)
    scales = np.asarray(state.scales, dtype=np.float32)
    return small.astype(np.float32) * scales[:, None, None]


def layer_times_ns(passes: list[PassTimes]) -> npt.NDArray[np.float64]:
    """Median time of each layer over these passes: [layers], in ns."""
    times = np.asarray([one.layer_ns for one in passes], dtype=np.float64)
    return np.median(times, axis=0)


def _column(gates: LayerGates, packed: str, head: int) -> Floats:
    values = np.frombuffer(base64.b64decode(packed), dtype="<f2").reshape(-1, gates.heads)
    return values[:, head].astype(np.float32)
