"""Held-out loss: how well the model predicts stories that it was not trained on, each read from an empty state."""

from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import Qwen3_5ForCausalLM

from training.batches import BROAD, load_stories, pieces
from training.loss import hidden_states
from training.sources import SOURCES
from training.state import TrainingState

IGNORED = -100  # the target of padding, which cross-entropy leaves out


def held_out_batches(path: Path) -> list[tuple[Tensor, Tensor]]:
    """Inputs and targets [16, 512] of one source's held-out stories, a story a row, padded, long ones cut."""
    length, rows = BROAD.length, BROAD.rows
    parts = sorted(pieces(load_stories(path), length + 1), key=len)
    parts = [part for part in parts if len(part) > 1]
    inputs = np.zeros((-(-len(parts) // rows) * rows, length), dtype=np.int64)
    targets = np.full_like(inputs, IGNORED)
    for row, part in enumerate(parts):
        inputs[row, : len(part) - 1], targets[row, : len(part) - 1] = part[:-1], part[1:]
    return list(zip(torch.from_numpy(inputs).split(rows), torch.from_numpy(targets).split(rows), strict=True))


def total_loss(model: Qwen3_5ForCausalLM, inputs: Tensor, targets: Tensor) -> tuple[float, int]:
    """Sum of the cross-entropy in nats over the predicted tokens of one batch, and their number."""
    logits = model.lm_head(hidden_states(model, inputs).detach().float())
    total = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=IGNORED, reduction="sum")
    return total.item(), int((targets != IGNORED).sum())


def held_out_loss(model: Qwen3_5ForCausalLM, folder: Path) -> dict[str, float]:
    """Nats a token for each source and, weighted by tokens, overall."""
    losses: dict[str, float] = {}
    all_nats, all_tokens = 0.0, 0
    for source in SOURCES:
        sums = [total_loss(model, *batch) for batch in held_out_batches(folder / f"{source.name}.held_out.npz")]
        nats, tokens = sum(x for x, _ in sums), sum(n for _, n in sums)
        losses[source.name] = round(nats / tokens, 4)
        all_nats, all_tokens = all_nats + nats, all_tokens + tokens
    return losses | {"overall": round(all_nats / all_tokens, 4)}


def evaluate(state: TrainingState, folder: Path) -> dict[str, dict[str, float]]:
    """Held-out losses of a state's weights and of their running mean."""
    weights = held_out_loss(state.model, folder)
    state.swap_average()
    average = held_out_loss(state.model, folder)
    state.swap_average()
    return {"weights": weights, "average": average}
