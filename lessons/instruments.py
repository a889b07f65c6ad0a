"""The instruments that a lesson or the Lab may show: plain data that the checker checks against.

An instrument named `what-if` is drawn by `show` in views/instruments/what_if.py, and the results that it publishes are
names in prose and answers: `what_if.ratio`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from lessons.named_shapes import MACHINES, SHAPE_KEYS, WAYS

NUMBER = r"\d+(\.\d+)?"
WHOLE = r"\d+"
TEXT = r".+"
SHAPE = "|".join(SHAPE_KEYS)
SHAPES = rf"({SHAPE})( ({SHAPE}))*"
"""Several shapes, with spaces between."""
ANY_SHAPE = rf"{SHAPE}|own"
OWN = r"([a-z_]+=\d+)( [a-z_]+=\d+)*"
"""A person's own model: the fields of engine.account.own_shape.Numbers."""
MACHINE = "|".join(("machine", *MACHINES))
LINK = "|".join(WAYS)


@dataclass(frozen=True)
class Instrument:
    """What the checker, the lesson page and the Lab need to know of one instrument."""

    title: str
    purpose: str
    settings: Mapping[str, str] = field(default_factory=dict)
    """Setting -> the regular expression that its whole value must match."""
    required: frozenset[str] = frozenset()
    publishes: Mapping[str, str] = field(default_factory=dict)
    """Result -> its kind (count, bytes, time in ns, ratio, rate, text, ...), without the instrument's own name."""
    needs_run: bool = False
    """Whether it draws the run in view; then it waits until there is one that has ended."""
    in_lab: bool = True
    """Whether it makes sense without a lesson around it."""

    def problem(self, key: str, value: str) -> str | None:
        """What is wrong with a setting, in words; None if nothing is."""
        if key not in self.settings:
            return f"unknown setting {key!r} (known: {', '.join(sorted(self.settings)) or 'none'})"
        if not re.fullmatch(self.settings[key], value):
            return f"{key}: {value!r} is not of the form {self.settings[key]}"
        return None


INSTRUMENTS: dict[str, Instrument] = {
    "metrics": Instrument(
        "Timings", "Queue, first token, gaps and rates of the run, each with how it was made.", needs_run=True,
    ),
    "passes": Instrument("When each pass ran", "Every pass of the run on a time axis to scale.", needs_run=True),
    "memory": Instrument(
        "What is kept", "KV cache and state of the run on one byte axis, with the crossover.", needs_run=True,
    ),
    "trace": Instrument(
        "Inside one DeltaNet head", "State of one head and times per layer, from an instrumented second pass.",
        needs_run=True,
    ),
    "race": Instrument(
        "Two runs on one clock", "The same prompt with a cache and with everything recomputed: time, tokens, odds.",
        needs_run=True,
        publishes={
            "positions": "count", "other_positions": "count", "positions_ratio": "ratio", "time": "time",
            "other_time": "time", "time_ratio": "ratio", "step": "time", "other_first_step": "time",
            "other_last_step": "time", "gap": "ratio", "tolerance": "ratio", "same_tokens": "count",
        },
    ),
    "kept": Instrument(
        "What any model keeps", "KV cache and state of any model at any length, layer by layer, and other ways to keep.",
        settings={"shape": ANY_SHAPE, "own": OWN, "positions": r"[1-9]\d{0,5}"},
    ),
}  # fmt: skip
"""Name -> instrument, in the order of the Lab's box."""


def prefix_of(name: str) -> str:
    """An instrument's name as it stands in expressions and as its module is called: `what-if` -> `what_if`."""
    return name.replace("-", "_")


def published_kinds(name: str) -> dict[str, str]:
    """Every name in expressions that an instrument gives, and its kind; none for an unknown instrument."""
    known = INSTRUMENTS.get(name)
    return {f"{prefix_of(name)}.{what}": kind for what, kind in known.publishes.items()} if known else {}
