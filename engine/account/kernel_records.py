"""What was counted or read while a kernel or an operation ran once, kept as a file: shown as recorded.

`AttentionBytes` is written by `python -m benchmarks.attention_bytes`, `DeltaTokens` by `python -m
benchmarks.delta_tokens`. Arrays travel as base64 of little-endian numbers.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from engine.account.record import Token

Way = Literal["written_out", "one_query", "tiled"]


class _Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A value inside a record."""


class Counted(_Part, frozen=True):
    """One way of computing the same attention: bytes loaded and stored, by what they hold.

    Of the kernel: its tile, the programs that it started and the tiles of keys that they read. The written-out way has
    none of these.
    """

    way: Way
    loaded: dict[str, int]
    stored: dict[str, int]
    block_m: int | None = None
    block_n: int | None = None
    programs: int | None = None
    tiles: int | None = None

    @property
    def total(self) -> int:
        """Bytes moved in either direction."""
        return sum(self.loaded.values()) + sum(self.stored.values())


class CountedPrompt(_Part, frozen=True):
    """One prompt of `n_tokens`, in one layer of the shape named."""

    shape: str
    n_heads: int
    n_kv_heads: int
    head_dim: int
    n_tokens: int
    ways: list[Counted]


class AttentionBytes(_Part, frozen=True):
    """Every prompt counted, and how."""

    created: str
    command: str
    versions: dict[str, str]
    number_type: str
    prompts: list[CountedPrompt]
    schema: Literal["twospeeds.attention-bytes/1"] = "twospeeds.attention-bytes/1"


class DeltaLayer(_Part, frozen=True):
    """What entered the states of one Gated DeltaNet layer: unit keys [T, H, K] and values [T, H, V] in float16, shares
    kept (e^g) and write strengths (beta) [T, H] in float32, each base64.

    The states began at 0, so the rule gives them back token by token: S <- e^g S + beta (v - e^g S k) k^T.
    """

    layer: int
    keys: str
    values: str
    decay: str
    write_strength: str
    largest_gap: float
    """The largest difference between the states given back like this and the engine's, as a share of the largest
    number in them.
    """


class DeltaTokens(_Part, frozen=True):
    """What every DeltaNet head of a model was given, token by token, while it read a prompt."""

    created: str
    command: str
    model: str
    kernel: str
    tokens: list[Token]
    n_heads: int
    key_dim: int
    value_dim: int
    layers: list[DeltaLayer]
    schema: Literal["twospeeds.delta-tokens/1"] = "twospeeds.delta-tokens/1"


def read_attention_bytes(path: Path) -> AttentionBytes:
    """The record in a file; raises OSError or msgspec.DecodeError."""
    return msgspec.json.decode(path.read_bytes(), type=AttentionBytes)


def read_delta_tokens(path: Path) -> DeltaTokens:
    """The record in a file; raises OSError or msgspec.DecodeError."""
    return msgspec.json.decode(path.read_bytes(), type=DeltaTokens)
