"""What was measured of weights in fewer bits: odds, texts and speed beside bfloat16, kept in lessons/measurements.

`python -m benchmarks.fewer_bits --keep` measures it anew; pages only read it.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import msgspec

from engine.account.record import WeightFormat
from lessons.playback import MEASUREMENTS


class Odds(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How far the odds of the next token lie from those of bfloat16, over all positions of fixed texts."""

    positions: int
    divergence_mean: float
    """Kullback-Leibler divergence of the two distributions, in nats."""
    divergence_worst: float
    same_top_choice: float
    """Share of positions at which both have the same favourite."""


class Format(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One way of keeping a model's weights."""

    weights: WeightFormat
    """"bf16", "int8" or "int4"."""
    weight_dtype: str
    bits_a_weight: float
    """Bytes held, in bits, over the number of weights: scales and what stays in other formats included."""
    weight_bytes: int
    step_bytes: int
    """Weight bytes that a decode step reads."""
    decode_ns: int
    prefill_ns: int
    odds: Odds | None
    """None for bfloat16 itself, and where weights are random and odds say nothing."""
    texts: list[str]
    """The greedy continuation of each prompt; empty for random weights."""


class ModelMeasured(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All formats of one model, taken in turns."""

    model: str
    random_weights: bool
    prefill_tokens: int
    n_decodes: int
    n_prefills: int
    formats: list[Format]


class FewerBits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole measurement."""

    created: str
    machine: str
    threads: int
    how: str
    prompts: list[str]
    new_tokens: int
    models: list[ModelMeasured]


def place() -> Path:
    """The file; it need not exist."""
    return MEASUREMENTS / "fewer-bits.json"


def measured() -> FewerBits | None:
    """What was kept; None if there is nothing or it cannot be read."""
    try:
        return _read(place(), place().stat().st_mtime_ns)
    except (OSError, msgspec.DecodeError):
        return None


def of_model(name: str) -> ModelMeasured | None:
    """What was measured of one model, by the shape's name; None if nothing was."""
    kept = measured()
    return next((one for one in kept.models if one.model == name), None) if kept else None


@cache
def _read(path: Path, _changed: int) -> FewerBits:
    return msgspec.json.decode(path.read_bytes(), type=FewerBits)
