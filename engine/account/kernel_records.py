"""What was counted or read while a kernel or an operation ran once, kept as a file: shown as recorded.

`AttentionBytes` is written by `python -m benchmarks.attention_bytes`, `DeltaTokens` by `python -m
benchmarks.delta_tokens`. Arrays travel as base64 of little-endian float16.
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


class DeltaToken(_Part, frozen=True):
    """One token at one head: S [V, K] before it, its unit key k [K], its value v [V], and the two gates.

    The rest follows: faded e^g S, held e^g S k, erased beta held k^T, written beta v k^T.
    """

    token: Token
    position: int
    before: str
    key: str
    value: str
    decay: float
    """e^g, the share that is kept."""
    write_strength: float
    """beta."""


class DeltaHead(_Part, frozen=True):
    """The tokens of one head of one layer, each counted from 0."""

    layer: int
    head: int
    tokens: list[DeltaToken]


class DeltaTokens(_Part, frozen=True):
    """What some heads did to their states while a model read a prompt."""

    created: str
    command: str
    model: str
    prompt: str
    values: int
    keys: int
    heads: list[DeltaHead]
    schema: Literal["twospeeds.delta-tokens/1"] = "twospeeds.delta-tokens/1"


def read_attention_bytes(path: Path) -> AttentionBytes:
    """The record in a file; raises OSError or msgspec.DecodeError."""
    return msgspec.json.decode(path.read_bytes(), type=AttentionBytes)


def read_delta_tokens(path: Path) -> DeltaTokens:
    """The record in a file; raises OSError or msgspec.DecodeError."""
    return msgspec.json.decode(path.read_bytes(), type=DeltaTokens)
