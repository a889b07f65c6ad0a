"""The models and machines that a what-if may name, as the virtual clock needs them.

A machine is a preset or this one. Of this one the times of the story model may have been fitted to measured steps
(`python -m benchmarks.virtual_clock --keep`); otherwise its roofline is taken, as the probe measured it.
"""

from __future__ import annotations

import os

from engine.account.presets import HARDWARE, Hardware
from engine.account.record import ModelShape
from engine.account.step_time import Roofline, StepClock
from engine.loop import calibrate
from lessons.named_shapes import MACHINES, SHAPE_KEYS, here, shape_of
from views.words import _

THIS_MACHINE = "machine"
SPARE_BYTES = 1 << 30
"""Memory for KV cache and state that a what-if takes on this machine: a part of it is not ours to fill."""


class NotKnown(ValueError):
    """A model or machine that is not known here; the message says why, for people."""


def what_if_shape(key: str) -> ModelShape:
    """The shape behind a key; raises `NotKnown`."""
    shape = shape_of(key)
    if shape is None:
        raise NotKnown(_("The story model's shape is not known here: its recording cannot be read."))
    return shape


def machine_keys() -> list[str]:
    """The machines that can be asked for now; this one first if it has been measured."""
    return [*([THIS_MACHINE] if here() else []), *MACHINES]


def machine_name(key: str) -> str:
    """For people."""
    return hardware_of(key).name


def shape_keys() -> list[str]:
    """The models that can be asked for, smallest first."""
    return list(SHAPE_KEYS)


def hardware_of(key: str) -> Hardware:
    """The machine behind a key; raises `NotKnown`."""
    found = here() if key == THIS_MACHINE else HARDWARE[MACHINES[key]]
    if found is None:
        raise NotKnown(_("This machine has not been measured yet: run `python -m engine probe` once."))
    return found


def clock_of(shape: ModelShape, key: str) -> StepClock:
    """How long steps of a model take on a machine."""
    if key == THIS_MACHINE:
        fitted = calibrate.load(shape.name, min(2, os.cpu_count() or 1))
        if fitted is not None:
            return fitted.clock()
    return Roofline(shape, hardware_of(key))


def memory_of(shape: ModelShape, key: str) -> int:
    """Bytes of memory that a what-if may fill on a machine."""
    if key == THIS_MACHINE:
        return min(hardware_of(key).memory_bytes, shape.weight_bytes + SPARE_BYTES)
    return hardware_of(key).memory_bytes
