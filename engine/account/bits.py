"""How many bytes a model's weights take in 16, 8 and 4 bits, counted from the scheme and not from a slogan.

A group of weights shares a scale, and in some schemes a zero, so a weight takes more than its own bits:

    bits a weight = bits + (scale bits + zero bits) / group

Sources: Dettmers and others, "LLM.int8()" (arXiv 2208.07339) for a scale a row; Dettmers and Zettlemoyer, "The case for
4-bit precision" (arXiv 2212.09720) for small groups; the formats of llama.cpp for a scale every 32 weights.
"""

from __future__ import annotations

from typing import NamedTuple

from engine.account import cost
from engine.account.presets import Hardware
from engine.account.record import ModelShape
from engine.account.step_time import Roofline, Work, with_bits


class Scheme(NamedTuple):
    """How a weight is stored."""

    name: str
    bits: int
    group: int | None
    """Weights that share a scale; None: nothing is shared."""
    shared_bits: int
    """Scale and zero of a group together."""
    label: str
    """The same in a few letters."""

    @property
    def bits_a_weight(self) -> float:
        """Everything that is stored, per weight."""
        return self.bits + (self.shared_bits / self.group if self.group else 0)


SCHEMES = (
    Scheme("bf16", 16, None, 0, "bf16"),
    Scheme("int8, a scale every 32", 8, 32, 16, "int8, s/32"),
    Scheme("int4, a scale and a zero every 64", 4, 64, 32, "int4, s+z/64"),
    Scheme("int4, a scale every 32", 4, 32, 16, "int4, s/32"),
    Scheme("int4, a scale every 64", 4, 64, 16, "int4, s/64"),
    Scheme("int4, nothing besides", 4, None, 0, "int4 bare"),
)
"""From most to fewest bytes. The last one cannot be used: without a scale, four bits are sixteen fixed numbers."""


class Stored(NamedTuple):
    """A model under one scheme, applied to every matrix alike; times are floors in nanoseconds."""

    scheme: Scheme
    weight_bytes: int
    step_bytes: int
    step_ns: float
    """Of a decode of one sequence, 500 tokens long."""


def stored(shape: ModelShape, scheme: Scheme, machine: Hardware) -> Stored:
    """What a model takes and what a step of it needs at least."""
    packed = with_bits(shape, scheme.bits_a_weight)
    compute, memory, _ = Roofline(packed, machine).terms([Work(1, 500)])
    return Stored(scheme, packed.weight_bytes, cost.step_weight_bytes(packed), max(compute, memory))
