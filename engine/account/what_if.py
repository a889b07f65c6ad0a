"""What a request would cost on a machine that is not here: bytes, floors of time, and what sharing a read gains.

Everything follows from the shape and from the machine's two peaks (the roofline, Williams and others, CACM 2009). Times
are floors: nothing is taken off for launches, for calls, or for a kernel that does not reach a peak.
"""

from __future__ import annotations

from math import ceil
from typing import NamedTuple

import msgspec

from engine.account import cost
from engine.account.presets import Hardware
from engine.account.record import ModelShape
from engine.account.step_time import Bound, Roofline, StepCost, Work, with_bits

BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class Asked(msgspec.Struct, frozen=True):
    """A question: so many such requests at once, on this machine, with weights of so many bits."""

    shape: ModelShape
    hardware: Hardware
    bits: float
    prompt_tokens: int
    new_tokens: int
    batch: int = 1

    @property
    def held(self) -> int:
        """Positions that one sequence holds at its end; its last token is never fed back."""
        return self.prompt_tokens + self.new_tokens - 1


class Step(NamedTuple):
    """One step of a batch: what it moves and computes, and the least time for it."""

    batch: int
    cost: StepCost
    memory_ns: float
    compute_ns: float
    bound: Bound

    @property
    def ns(self) -> float:
        """The floor of the step's time; every sequence gets one token in it."""
        return max(self.memory_ns, self.compute_ns)

    @property
    def tokens_per_s(self) -> float:
        """Of all sequences together, at most."""
        return self.batch * 1e9 / self.ns


class Answer(NamedTuple):
    """All bytes in whole bytes, times in nanoseconds."""

    weights_held: int
    weights_read: int
    kv_per_token: int
    kv_held: int
    """Of all sequences at their end, like the two below."""
    state_held: int
    window_held: int
    memory_left: int
    """After all of these; negative: they do not fit."""
    decode: Step
    """The last step of the batch, the one with the longest cache."""
    prefill: Step
    """One prompt, in one pass."""
    compute_batch: int | None
    """From how many sequences on arithmetic limits the last step; None: at this length it never does."""


def answer(asked: Asked) -> Answer:
    """Work a question out. Raises ValueError for a number of bits that no weight has."""
    shape = with_bits(asked.shape, asked.bits)
    rates = cost.Rates.of(shape)
    kv_held = asked.batch * cost.kv_bytes(shape, asked.held)
    state, window = (asked.batch * one for one in (rates.state, rates.window))
    return Answer(
        weights_held=shape.weight_bytes,
        weights_read=cost.step_weight_bytes(shape),
        kv_per_token=rates.kv_per_position,
        kv_held=kv_held,
        state_held=state,
        window_held=window,
        memory_left=asked.hardware.memory_bytes - shape.weight_bytes - kv_held - state - window,
        decode=decode_step(asked, asked.batch),
        prefill=_step(Roofline(shape, asked.hardware), [Work(asked.prompt_tokens, 0)]),
        compute_batch=_compute_batch(asked),
    )


def decode_step(asked: Asked, batch: int) -> Step:
    """The last decode of so many sequences of this length, side by side."""
    clock = Roofline(with_bits(asked.shape, asked.bits), asked.hardware)
    return _step(clock, [Work(1, max(0, asked.held - 1))] * batch)


def _step(clock: Roofline, parts: list[Work]) -> Step:
    compute, memory, _ = clock.terms(parts)
    return Step(len(parts), clock.cost(parts), memory, compute, clock.bound(parts))


def _compute_batch(asked: Asked) -> int | None:
    """Time of arithmetic and of what each sequence brings grow with the batch, time of the weights does not: solve for
    the batch at which the first passes the other two.
    """
    one, two = (decode_step(asked, batch) for batch in (1, 2))
    per_sequence = two.memory_ns - one.memory_ns
    gain = one.compute_ns - per_sequence
    return max(1, ceil((one.memory_ns - per_sequence) / gain)) if gain > 0 else None
