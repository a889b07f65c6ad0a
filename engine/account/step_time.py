"""How long a step takes, computed: from what it executes to nanoseconds.

Two models of it. The roofline (Williams, Waterman, Patterson, CACM 2009) needs a machine's two peaks and holds where
arithmetic or memory is the bound:

    max(operations / peak, bytes / bandwidth) + overhead a step + overhead a sequence + overhead a token

The fitted one needs measured steps of this very model on this very machine. It is for the third regime, where neither
is the bound and time goes into calls (`engine.loop.calibrate` measures and fits).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol

import msgspec

from engine.account.cost import Rates, total_parameters
from engine.account.presets import Hardware
from engine.account.record import ModelShape

Bound = Literal["compute", "memory", "overhead"]


class Work(NamedTuple):
    """One sequence's part in a step: `n_tokens` from `start_position` on, `n_logits` of them asked for odds."""

    n_tokens: int
    start_position: int
    n_logits: int = 1


class StepCost(NamedTuple):
    """What a step reads, writes and computes over all its parts (law 6 and 7 of the course)."""

    weight_bytes: int
    kv_bytes: int
    """Read and written."""
    state_bytes: int
    """Read and written, recurrent state alone."""
    operations: int

    @property
    def n_bytes(self) -> int:
        """Everything that passes between memory and processor."""
        return self.weight_bytes + self.kv_bytes + self.state_bytes


class StepClock(Protocol):
    """What the simulator needs of a cost model."""

    name: str
    """Of the machine, for people."""
    how: str
    """How durations are made, in words: what a simulated record says of itself."""

    def ns(self, parts: Sequence[Work]) -> int:
        """Nanoseconds that a step with these parts takes, at least 1."""


class Overheads(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a step costs besides bytes and operations, in nanoseconds: launches, calls, sampling."""

    step_ns: float = 0.0
    sequence_ns: float = 0.0
    token_ns: float = 0.0
    source: str = "none assumed"


NO_OVERHEADS = Overheads()


def step_cost(rates: Rates, parts: Sequence[Work]) -> StepCost:
    """Add the parts up: weights once for all of them, KV cache and state for each."""
    n_tokens = n_logits = held = operations = 0
    for part in parts:
        n_tokens += part.n_tokens
        n_logits += part.n_logits
        held += part.start_position + part.n_tokens
        operations += rates.operations(part.start_position, part.n_tokens, part.n_logits)
    kv_bytes = (held + n_tokens) * rates.kv_per_position
    return StepCost(rates.weight_bytes(n_tokens, n_logits), kv_bytes, 2 * len(parts) * rates.state, operations)


class Roofline:
    """Durations of one model's steps on one machine."""

    def __init__(self, shape: ModelShape, hardware: Hardware, overheads: Overheads = NO_OVERHEADS) -> None:
        self.shape = shape
        self.hardware = hardware
        self.overheads = overheads
        self.name = hardware.name
        self.how = (
            f"simulated: the larger of operations over {hardware.flops_per_s * hardware.compute_share / 1e12:,.4g} "
            f"TFLOP/s and bytes over {hardware.bandwidth_bytes_per_s * hardware.bandwidth_share / 1e9:,.4g} GB/s "
            f"({hardware.source}, {hardware.dated}; shares: {hardware.shares_source}); overheads: {overheads.source}"
        )
        self._rates = Rates.of(shape)
        self._ns_per_operation = 1e9 / (hardware.flops_per_s * hardware.compute_share)
        self._ns_per_byte = 1e9 / (hardware.bandwidth_bytes_per_s * hardware.bandwidth_share)

    def cost(self, parts: Sequence[Work]) -> StepCost:
        """What the step executes."""
        return step_cost(self._rates, parts)

    def ns(self, parts: Sequence[Work]) -> int:
        """See `StepClock`."""
        compute, memory, overhead = self.terms(parts)
        return max(1, round(max(compute, memory) + overhead))

    def terms(self, parts: Sequence[Work]) -> tuple[float, float, float]:
        """Nanoseconds of arithmetic, of memory traffic, and of overhead; the first two overlap, the third adds."""
        cost, fixed = step_cost(self._rates, parts), self.overheads
        n_tokens = sum(part.n_tokens for part in parts)
        overhead = fixed.step_ns + len(parts) * fixed.sequence_ns + n_tokens * fixed.token_ns
        return cost.operations * self._ns_per_operation, cost.n_bytes * self._ns_per_byte, overhead

    def bound(self, parts: Sequence[Work]) -> Bound:
        """Which regime the step is in: the largest of the three terms."""
        compute, memory, overhead = self.terms(parts)
        if overhead > max(compute, memory):
            return "overhead"
        return "compute" if compute > memory else "memory"


class FittedTimes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Nanoseconds of a step's ingredients, fitted to measured steps of one model on one machine. None is negative."""

    step_ns: float
    decode_sequence_ns: float
    """For each sequence that takes in one token."""
    decode_position_ns: float
    """For each position that such a sequence attends to."""
    prefill_sequence_ns: float
    """For each sequence that takes in more than one."""
    prefill_token_ns: float
    prefill_pair_ns: float
    """For each of its query positions and each position that it attends to."""


def ingredients(parts: Sequence[Work]) -> tuple[int, int, int, int, int, int]:
    """How often a step has each of `FittedTimes`' terms, in their order."""
    decodes = decode_positions = prefills = tokens = pairs = 0
    for n, start, _ in parts:
        if n == 1:
            decodes += 1
            decode_positions += start + 1
        else:
            prefills += 1
            tokens += n
            pairs += n * start + n * (n + 1) // 2
    return 1, decodes, decode_positions, prefills, tokens, pairs


class Fitted:
    """Durations as fitted."""

    def __init__(self, times: FittedTimes, name: str, how: str) -> None:
        self.times = times
        self.name = name
        self.how = how
        self._terms = msgspec.structs.astuple(times)

    def ns(self, parts: Sequence[Work]) -> int:
        """See `StepClock`."""
        return max(1, round(sum(a * b for a, b in zip(self._terms, ingredients(parts), strict=True))))


def with_bits(shape: ModelShape, bits_per_weight: float) -> ModelShape:
    """The same model with its weights stored in so many bits each, scales included (4.5 for int4 in groups of 32 with
    an fp16 scale). Arithmetic stays what it was: weights are unpacked before they are multiplied. Raises ValueError.
    """
    if not 0 < bits_per_weight <= 32:
        raise ValueError(f"A weight takes more than 0 and at most 32 bits; asked for {bits_per_weight}.")
    whole = {32.0: "float32", 16.0: "bfloat16", 8.0: "int8"}
    dtype = whole.get(float(bits_per_weight), f"{bits_per_weight:g} bits a weight")
    n_bytes = round(total_parameters(shape) * bits_per_weight / 8)
    return msgspec.structs.replace(shape, weight_dtype=dtype, weight_bytes=n_bytes, head_bytes=None)
