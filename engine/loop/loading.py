"""From a model folder to the parts of an engine."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import msgspec
import torch

from engine.account.cost import kv_bytes_per_position
from engine.account.record import ModelShape
from engine.loop.drafting.draft_model import DraftModel
from engine.loop.model_folder import find_model, random_shape
from engine.loop.runner import Runner
from engine.loop.threads import default_threads
from engine.loop.variant import split_variant
from engine.memory.memory import Memory
from engine.memory.untouched import CPU
from engine.model.byte_tokens import ByteTokens
from engine.model.model import Model
from engine.model.random_weights import random_model
from engine.model.tokenizer import Tokenizer

KV_BUDGET_BYTES = 1 << 30
"""Bound on the KV cache of all sequences together: a model whose context needs more serves a shorter one."""

N_CHECKPOINTS = 16
"""Prefix checkpoints that are kept at most; each takes a state slot."""

N_FOR_TRACES = 1
"""A trace runs beside the requests."""


class OtherVocabulary(ValueError):
    """A draft model that speaks of other tokens than the model; its guesses would mean nothing."""


class NoSuchDevice(ValueError):
    """The device that was asked for is not here; says what is."""


class LoadedParts(NamedTuple):
    """What an engine is made of."""

    runner: Runner
    tokenizer: Tokenizer | ByteTokens
    shape: ModelShape
    context_length: int
    draft_model: DraftModel | None


def load_parts(
    model: str | os.PathLike[str], *, threads: int | None, max_running: int,
    draft_model: str | os.PathLike[str] | None, device: str = "cpu",
) -> LoadedParts:  # fmt: skip
    """Load model and tokenizer, take memory, and set the number of compute threads.

    Raises `ModelNotFound`, `CheckpointError`, `OtherVocabulary`, `NoSuchDevice`.
    """
    torch.set_num_threads(threads or default_threads())
    on = find_device(device)
    loaded, tokenizer = load_model(model, on)
    memory = new_memory(loaded, max_running + N_CHECKPOINTS + N_FOR_TRACES, max_running)
    positions = memory.pages.n_positions
    return LoadedParts(
        Runner(loaded, memory, N_CHECKPOINTS),
        tokenizer,
        loaded.shape,
        min(loaded.shape.context_length, positions),
        _load_drafts(find_model(draft_model), tokenizer, max_running, on) if draft_model else None,
    )


def find_device(name: str) -> torch.device:
    """The device of a name ("cpu", "cuda", "cuda:1"); raises `NoSuchDevice`."""
    number = name.removeprefix("cuda").removeprefix(":") or "0"
    if name == "cpu":
        return CPU
    if not name.startswith("cuda") or not number.isdecimal():
        raise NoSuchDevice(f"a model is put on cpu, cuda or cuda:1 (and so on); not on {name!r}")
    if not torch.cuda.is_available():
        raise NoSuchDevice("torch sees no GPU here: it needs a CUDA build, a driver and a card")
    if int(number) >= torch.cuda.device_count():
        raise NoSuchDevice(f"there is no {name} here; torch sees {torch.cuda.device_count()} GPUs, counted from 0")
    return torch.device("cuda", int(number))


def load_model(model: str | os.PathLike[str], device: torch.device = CPU) -> tuple[Model, Tokenizer | ByteTokens]:
    """A model with its tokenizer, by name or folder, or `random:<shape>`; `:int8` or `:int4` at the end quantizes it.

    Raises `ModelNotFound`, `CheckpointError`.
    """
    name, weights = split_variant(model)
    if shape := random_shape(name):
        loaded = random_model(shape, weights=weights, device=device)
        tokenizer: Tokenizer | ByteTokens = ByteTokens()
    else:
        folder = find_model(name)
        loaded, tokenizer = Model.load(folder, weights=weights, device=device), Tokenizer(folder)
    if weights != "bf16":
        loaded.shape = msgspec.structs.replace(loaded.shape, name=f"{loaded.shape.name}:{weights}")
    return loaded, tokenizer


def new_memory(model: Model, n_slots: int, n_full: int) -> Memory:
    """Memory for `n_slots` sequences, `n_full` of them at full context or as much as the budget allows."""
    most = KV_BUDGET_BYTES // max(1, kv_bytes_per_position(model.shape))
    return model.new_memory(n_slots=n_slots, n_positions=min(most, n_full * model.shape.context_length))


def _load_drafts(folder: Path, tokenizer: Tokenizer | ByteTokens, max_running: int, device: torch.device) -> DraftModel:
    if Tokenizer(folder).vocabulary != tokenizer.vocabulary:
        raise OtherVocabulary(f"{folder.name} has another vocabulary than the model that it should guess for.")
    model = Model.load(folder, device=device)
    # A guess runs ahead on a copy, one at a time.
    return DraftModel(model, new_memory(model, max_running + 1, max_running))
