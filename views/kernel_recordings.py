"""What was counted and read while kernels ran, from the files that lie with the recordings."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from engine.account.kernel_records import AttentionBytes, DeltaTokens, read_attention_bytes, read_delta_tokens

HOME = Path(__file__).resolve().parent.parent / "lessons" / "recordings" / "kernels"


@cache
def attention_bytes() -> AttentionBytes:
    """The counts of attention; raises OSError or msgspec.DecodeError."""
    return read_attention_bytes(HOME / "attention-bytes.json")


@cache
def delta_tokens() -> DeltaTokens:
    """What every DeltaNet head was given; raises OSError or msgspec.DecodeError."""
    return read_delta_tokens(HOME / "delta-tokens.json")
