"""Names that need no run: model shapes, machines and links by preset, and this machine as it was measured.

`shape.qwen27b.weight_bytes` is computed by the cost formulas from the shape, `preset.h100.bandwidth` is what a data
sheet prints, `machine.bandwidth` is the kept result of the probe. What is not known here is None.
"""

from __future__ import annotations

import os
from functools import cache

from engine.account import cost, probe
from engine.account.presets import HARDWARE, LINKS, Hardware, this_machine
from engine.account.record import ModelShape
from engine.account.record_file import RecordError
from lessons import catalogue
from lessons.expressions import Value

STORY_RECORDING = "story-once-upon-a-time"
"""The recording that tells the bundled model's shape, with its weights counted as they were loaded."""

SHAPES = {
    "smollm2": "SmolLM2-135M",
    "qwen08b": "Qwen3.5-0.8B",
    "qwen2b": "Qwen3.5-2B",
    "qwen4b": "Qwen3.5-4B",
    "qwen9b": "Qwen3.5-9B",
    "qwen27b": "Qwen3.5-27B",
}
"""Key in names -> preset shape; "story" comes beside them."""

MACHINES = {
    "h100": "H100 SXM",
    "h200": "H200 SXM",
    "a100": "A100 SXM 80 GB",
    "rtx4090": "RTX 4090",
    "m4max": "Apple M4 Max",
    "m1max": "Apple M1 Max",
}
WAYS = {
    "pcie4": "PCIe 4.0 x16",
    "pcie5": "PCIe 5.0 x16",
    "nvlink4": "NVLink 4",
    "eth25": "25 GbE",
    "eth100": "100 GbE",
    "ib400": "InfiniBand NDR400",
}

SHAPE_KEYS = ("story", *SHAPES)

_OF_A_SHAPE = {
    "name": "text", "parameters": "count", "layers": "count", "full_layers": "count", "linear_layers": "count",
    "width": "count", "heads": "count", "kv_heads": "count", "head_dim": "count", "value_heads": "count",
    "vocabulary": "count", "context_length": "count", "weight_bytes": "bytes", "step_weight_bytes": "bytes",
    "kv_bytes_per_position": "bytes", "state_bytes": "bytes", "window_bytes": "bytes", "crossover": "count",
    "operations_per_token": "count",
}  # fmt: skip
_OF_A_MACHINE = {
    "name": "text", "bandwidth": "bytes a second", "peak": "operations a second", "memory": "bytes", "ridge": "ratio",
}  # fmt: skip

KINDS: dict[str, str] = {
    **{f"shape.{key}.{what}": kind for key in SHAPE_KEYS for what, kind in _OF_A_SHAPE.items()},
    **{f"preset.{key}.{what}": kind for key in MACHINES for what, kind in _OF_A_MACHINE.items()},
    **{f"link.{key}.bandwidth": "bytes a second" for key in WAYS},
    **{f"machine.{what}": kind for what, kind in _OF_A_MACHINE.items()},
}
"""Every name here and its kind."""


def named_values() -> dict[str, Value]:
    """The value of every name in `KINDS`; None for this machine before it was measured."""
    return {**_presets(), **_shape_values("story", shape_of("story")), **_machine_values("machine", here())}


def shape_of(key: str) -> ModelShape | None:
    """The shape behind a key of `SHAPE_KEYS`; None for the story model where its recording cannot be read."""
    if key in SHAPES:
        return cost.PRESET_SHAPES[SHAPES[key]]
    try:
        return catalogue.recording(STORY_RECORDING).header.model
    except (OSError, RecordError):
        return None


def here() -> Hardware | None:
    """This machine, if the probe has measured it with as many threads as the engine takes."""
    kept = probe.load(probe.kept_at(min(2, os.cpu_count() or 1)))
    return this_machine(kept) if kept else None


@cache
def _presets() -> dict[str, Value]:
    values: dict[str, Value] = {}
    for key in SHAPES:
        values |= _shape_values(key, shape_of(key))
    for key, name in MACHINES.items():
        values |= _machine_values(f"preset.{key}", HARDWARE[name])
    return values | {f"link.{key}.bandwidth": LINKS[name].bandwidth_bytes_per_s for key, name in WAYS.items()}


def _shape_values(key: str, shape: ModelShape | None) -> dict[str, Value]:
    told = _told(shape) if shape else {}
    return {f"shape.{key}.{what}": told.get(what) for what in _OF_A_SHAPE}


def _told(shape: ModelShape) -> dict[str, Value]:
    return {
        "name": shape.name,
        "parameters": shape.parameters,
        "layers": len(shape.layer_types),
        "full_layers": shape.layer_types.count("full_attention"),
        "linear_layers": shape.layer_types.count("linear_attention"),
        "width": shape.hidden_size,
        "heads": shape.num_attention_heads,
        "kv_heads": shape.num_key_value_heads,
        "head_dim": shape.head_dim,
        "value_heads": shape.linear_num_value_heads,
        "vocabulary": shape.vocab_size,
        "context_length": shape.context_length,
        "weight_bytes": shape.weight_bytes,
        "step_weight_bytes": cost.step_weight_bytes(shape),
        "kv_bytes_per_position": cost.kv_bytes_per_position(shape),
        "state_bytes": cost.recurrent_state_bytes(shape),
        "window_bytes": cost.window_bytes(shape),
        "crossover": cost.crossover_positions(shape),
        "operations_per_token": cost.pass_operations(shape, 0, 1, 1),
    }


def _machine_values(prefix: str, machine: Hardware | None) -> dict[str, Value]:
    if machine is None:
        return {f"{prefix}.{what}": None for what in _OF_A_MACHINE}
    return {
        f"{prefix}.name": machine.name,
        f"{prefix}.bandwidth": machine.bandwidth_bytes_per_s,
        f"{prefix}.peak": machine.flops_per_s,
        f"{prefix}.memory": machine.memory_bytes,
        f"{prefix}.ridge": machine.ridge,
    }
