"""The full-attention mixer of a Llama layer: grouped queries and rotary positions over whole heads, nothing else."""

from __future__ import annotations

import torch
from torch import Tensor

from engine.model.batch import Batch
from engine.model.config import ModelConfig
from engine.model.weights import Checkpoint
from kernels.dispatch import table as ops


class Attention:
    """Every token reads the keys and values of all positions before it."""

    operations = ("attention",)

    def __init__(self, config: ModelConfig, checkpoint: Checkpoint, prefix: str) -> None:
        hidden, dim = config.hidden_size, config.head_dim
        width, kv_width = config.num_attention_heads * dim, config.num_key_value_heads * dim
        self._eps = config.rms_norm_eps
        # One matrix, so that x is read once: queries | keys | values.
        self.project_in = torch.cat(
            [
                checkpoint.matrix(f"{prefix}.{part}_proj.weight", (rows, hidden))
                for part, rows in (("q", width), ("k", kv_width), ("v", kv_width))
            ]
        )
        self.project_out = checkpoint.matrix(f"{prefix}.o_proj.weight", (hidden, width))

    def add_to(
        self, residual: Tensor, scale: Tensor, batch: Batch, kept: tuple[Tensor, Tensor], rotary: Tensor
    ) -> None:
        """Add the mixer's output for the normalized residual [T, hidden] to it, in place; see `GatedAttention`."""
        keys, values = kept
        heads = ops.attention(
            ops.norm_linear(residual, scale, self._eps, self.project_in),
            rotary, keys, values, batch.positions, batch.kv_rows, batch.page_tables, batch.bounds_index,
        )  # fmt: skip
        ops.linear_add(residual, heads, self.project_out)
