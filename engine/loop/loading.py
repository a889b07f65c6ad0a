"""From a model folder to the parts of an engine."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import torch

from engine.account.cost import kv_bytes_per_position
from engine.account.record import ModelShape
from engine.loop.runner import Runner
from engine.model.model import Model
from engine.model.tokenizer import Tokenizer

KV_BUDGET_BYTES = 1 << 30
"""Bound on the KV cache of one sequence: a model whose context needs more serves a shorter one."""

N_SEQUENCES = 2
"""One request at a time, and a trace beside it."""


class LoadedParts(NamedTuple):
    """What an engine is made of."""

    runner: Runner
    tokenizer: Tokenizer
    shape: ModelShape
    context_length: int


def load_parts(folder: Path, *, threads: int | None = None) -> LoadedParts:
    """Load model and tokenizer, take memory, and set the number of compute threads; raises `CheckpointError`."""
    torch.set_num_threads(threads or min(2, os.cpu_count() or 1))
    model, tokenizer = Model.load(folder), Tokenizer(folder)
    context_length = min(model.shape.context_length, KV_BUDGET_BYTES // max(1, kv_bytes_per_position(model.shape)))
    memory = model.new_memory(n_slots=N_SEQUENCES, n_positions=N_SEQUENCES * context_length)
    return LoadedParts(Runner(model, memory), tokenizer, model.shape, context_length)
