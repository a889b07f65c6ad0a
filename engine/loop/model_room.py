"""Whether one more model fits into the memory that is free: asked before it is loaded, not found out by swapping."""

from __future__ import annotations

import psutil

from engine.account.cost import kv_bytes, recurrent_state_bytes, total_parameters, window_bytes
from engine.account.record import WeightFormat
from engine.loop.model_folder import find_model
from engine.loop.variant import split_variant
from engine.model.config import ModelConfig

BITS: dict[WeightFormat, float] = {"bf16": 16, "int8": 8.5, "int4": 5}
"""Of a weight with its scale and zero, at most."""
LEFT_OVER = 512 << 20
"""Bytes that stay free for everything else."""


class NoRoom(ValueError):
    """The model does not fit; the message names what it needs and what is free."""


def check_room(model: str, n_running: int, free: int | None = None) -> None:
    """Raise `NoRoom` if a model by name does not fit into `free` bytes, by default those that are free now.

    `n_running` is how many sequences it is to run at once. Raises `ModelNotFound`, `CheckpointError`.
    """
    needed = needed_bytes(model, n_running)
    free = psutil.virtual_memory().available if free is None else free
    if needed + LEFT_OVER > free:
        raise NoRoom(
            f"{model} needs up to {needed / 1e9:.1f} GB for its weights, KV cache and states, and {free / 1e9:.1f} GB "
            "of memory are free. Models that nobody uses are closed after ten minutes; fewer bits a weight need less."
        )


def needed_bytes(model: str, n_running: int) -> int:
    """What an engine takes at most: weights in the format that the name asks for, and the memory of its sequences.

    Raises `ModelNotFound`, `CheckpointError`.
    """
    from engine.loop.loading import KV_BUDGET_BYTES, N_CHECKPOINTS, N_FOR_TRACES

    name, weights = split_variant(model)
    folder = find_model(name)
    shape = ModelConfig.load(folder).shape(
        folder.name, parameters=0, weight_bytes=0, weight_dtype="bfloat16", kv_dtype="bfloat16"
    )
    slots = n_running + N_CHECKPOINTS + N_FOR_TRACES
    held = slots * (recurrent_state_bytes(shape) + window_bytes(shape))
    held += min(KV_BUDGET_BYTES, kv_bytes(shape, n_running * shape.context_length))
    return int(total_parameters(shape) * BITS[weights] / 8) + held
