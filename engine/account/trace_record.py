"""What the instrumented second pass over a run's tokens tells: the inside of the model, which a timed run never shows.

A timing is taken without instruments, so this is a record of its own and its times never mix with a run's (law 11). It
replays the tokens that the run read and wrote (teacher forcing), twice: once pass by pass as the run went, with a clock
at every layer; once token by token, reading what each Gated DeltaNet head does to its state.

Schema `twospeeds.trace/1`. Long arrays travel as base64 of little-endian float16 or of signed bytes.
"""

from __future__ import annotations

import base64

import msgspec

from engine.account.record import Device, LayerType, Phase, Token

SCHEMA = "twospeeds.trace/1"

MAX_STATE_BYTES = 2 << 20
"""Bound on one trace's state frames before base64. Beyond it only every n-th token's state is kept
(`StateTrace.stride`).
"""


class _Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A value inside the trace."""


class PassTimes(_Part, frozen=True):
    """One replayed pass: how long each part took, in ns, with the clock read between the parts."""

    number: int
    phase: Phase
    n_tokens: int
    embedding_ns: int
    layer_ns: list[int]
    """One entry a layer, in order."""
    head_ns: int
    """The last norm and the output head."""


class LayerGates(_Part, frozen=True):
    """What one Gated DeltaNet layer's heads do at each token: both arrays are [tokens, heads] float16, base64.

    `decay` is exp(g), the factor in (0, 1] by which a head's state fades; `write_strength` is beta in [0, 1], how much
    of the difference between the new value and what the state held is written.
    """

    layer: int
    heads: int
    decay: str
    write_strength: str


class StateTrace(_Part, frozen=True):
    """One head's state matrix, rows of V and columns of K, after every `stride`-th token and after the last.

    `frames` is [len(token_indices), values, keys] in signed bytes, base64; multiply a frame by its entry of `scales`
    (its largest magnitude / 127) for the numbers.
    """

    layer: int
    head: int
    values: int
    keys: int
    stride: int
    token_indices: list[int]
    """Which token each frame comes after, counted from 0 over prompt and reply."""
    scales: list[float]
    frames: str


class TraceRecord(_Part, frozen=True):
    """One instrumented replay. `evidence` is always "instrumented": measured, but not what an untouched run takes."""

    run_id: str
    model: str
    device: Device
    layer_types: list[LayerType]
    tokens: list[Token]
    """What went through the model: the prompt and all new tokens but the last, which no pass ever read."""
    n_prompt: int
    passes: list[PassTimes]
    gates: list[LayerGates]
    state: StateTrace
    evidence: str = "instrumented"
    schema: str = SCHEMA


def state_stride(n_tokens: int, frame_bytes: int) -> int:
    """The smallest n for which keeping every n-th token's state, and the last one's, stays within `MAX_STATE_BYTES`."""
    frames = max(1, MAX_STATE_BYTES // frame_bytes - 1)
    return -(-n_tokens // frames)


def pack(raw: bytes) -> str:
    """Bytes as base64 text."""
    return base64.b64encode(raw).decode("ascii")
