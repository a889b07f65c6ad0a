"""The full-attention mixer: grouped queries, norms on query and key heads, partial rotary positions, an output gate."""

from __future__ import annotations

import torch
from torch import Tensor

from engine.model.batch import Batch
from engine.model.config import ModelConfig
from engine.model.weights import Checkpoint
from kernels.dispatch import table as ops


class GatedAttention:
    """Every token reads the keys and values of all positions before it; this is the layer whose cache grows."""

    operations = ("gated_attention",)

    def __init__(self, config: ModelConfig, checkpoint: Checkpoint, prefix: str) -> None:
        hidden, dim = config.hidden_size, config.head_dim
        width, kv_width = config.num_attention_heads * dim, config.num_key_value_heads * dim
        self._eps = config.rms_norm_eps
        # The checkpoint interleaves query and gate head by head; here all queries come first, then all gates.
        q_gate = checkpoint.matrix(f"{prefix}.q_proj.weight", (2 * width, hidden))
        q_gate = q_gate.view(config.num_attention_heads, 2, dim, hidden).transpose(0, 1).reshape(2 * width, hidden)
        k_v = [checkpoint.matrix(f"{prefix}.{part}_proj.weight", (kv_width, hidden)) for part in ("k", "v")]
        self.project_in = torch.cat([q_gate, *k_v])
        self.q_scale = 1 + checkpoint.vector(f"{prefix}.q_norm.weight", (dim,))
        self.k_scale = 1 + checkpoint.vector(f"{prefix}.k_norm.weight", (dim,))
        self.project_out = checkpoint.matrix(f"{prefix}.o_proj.weight", (hidden, width))

    def add_to(
        self, residual: Tensor, scale: Tensor, batch: Batch, kept: tuple[Tensor, Tensor], rotary: Tensor
    ) -> None:
        """Add the mixer's output for the normalized residual [T, hidden] to it, in place; `scale` is the norm's.

        `kept` is this layer's pages of keys and of values [Hkv, pages, page size, D]; the batch's rows are written
        and then read with all before them.
        """
        keys, values = kept
        heads = ops.gated_attention(
            ops.norm_linear(residual, scale, self._eps, self.project_in),
            self.q_scale, self.k_scale, self._eps, rotary,
            keys, values, batch.positions, batch.kv_rows, batch.page_tables, batch.bounds_index,
        )  # fmt: skip
        ops.linear_add(residual, heads, self.project_out)
