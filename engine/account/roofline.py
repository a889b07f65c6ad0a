"""Where passes stand under a machine's roofs: operations for each byte across, operations a second up.

Williams, Waterman, Patterson, "Roofline", CACM 2009. Operations and bytes are counted from the shape; the time is
measured, or, for a machine that is not here, the least that its peaks allow.
"""

from __future__ import annotations

from typing import NamedTuple

from engine.account.presets import Hardware
from engine.account.record import ModelShape, Pass, Phase, Run
from engine.account.step_time import Roofline, Work


class Dot(NamedTuple):
    """One pass or step."""

    name: str
    phase: Phase
    n_tokens: int
    operations: int
    n_bytes: int
    ns: float

    @property
    def intensity(self) -> float:
        """Operations for each byte that is moved."""
        return self.operations / self.n_bytes

    @property
    def operations_per_s(self) -> float:
        """Operations a second."""
        return self.operations * 1e9 / self.ns

    @property
    def bytes_per_s(self) -> float:
        """Bytes a second."""
        return self.n_bytes * 1e9 / self.ns


def pass_dots(run: Run) -> list[Dot]:
    """The passes that this request had to itself, in order; of a shared step its own part alone would say nothing."""
    return [dot for one in run.passes if one.shared_by == 1 and (dot := _dot(one)) is not None]


def roof(machine: Hardware, intensity: float) -> float:
    """Operations a second that the machine allows at most."""
    return min(
        machine.flops_per_s * machine.compute_share,
        machine.bandwidth_bytes_per_s * machine.bandwidth_share * intensity,
    )


def share_of_roof(dot: Dot, machine: Hardware) -> float:
    """What a dot reaches of what the machine allows; above 1 where bytes came out of a cache and not out of memory."""
    return dot.operations_per_s / roof(machine, dot.intensity)


def best_dots(shape: ModelShape, machine: Hardware, prompts: tuple[int, ...], batches: tuple[int, ...]) -> list[Dot]:
    """Prefills of these lengths and decodes of these batches, each sequence 500 tokens long, at the least time."""
    clock = Roofline(shape, machine)
    steps: list[tuple[str, Phase, list[Work]]] = [
        *((f"prefill {n:,}", "prefill", [Work(n, 0)]) for n in prompts),
        *((f"decode × {n:,}" if n > 1 else "decode", "decode", [Work(1, AT)] * n) for n in batches),
    ]
    dots = []
    for name, phase, parts in steps:
        moved = clock.cost(parts)
        n_tokens = sum(part.n_tokens for part in parts)
        dots.append(Dot(name, phase, n_tokens, moved.operations, moved.n_bytes, max(clock.terms(parts)[:2])))
    return dots


AT = 500
"""Position of the token that a computed decode takes in."""


def moved_bytes(one: Pass) -> int | None:
    """Everything that a pass reads and writes; None if any part of it is not known."""
    parts = (
        one.weight_bytes_read, one.kv_bytes_read, one.kv_bytes_written, one.state_bytes_read, one.state_bytes_written,
    )  # fmt: skip
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None


def median_dot(dots: list[Dot], phase: Phase) -> Dot | None:
    """The pass of a phase whose time is the median one; None if there is none."""
    of_phase = sorted((dot for dot in dots if dot.phase == phase), key=lambda dot: dot.ns)
    return of_phase[(len(of_phase) - 1) // 2] if of_phase else None


def _dot(one: Pass) -> Dot | None:
    n_bytes = moved_bytes(one)
    if n_bytes is None or one.operations is None or one.end_ns <= one.start_ns:
        return None
    name = f"pass {one.number + 1}: {one.phase}"
    return Dot(name, one.phase, len(one.token_ids), one.operations, n_bytes, one.end_ns - one.start_ns)
