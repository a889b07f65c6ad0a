"""The SwiGLU feed-forward block (arXiv 2002.05202)."""

from __future__ import annotations

import torch
from torch import Tensor

from engine.model.config import ModelConfig
from engine.model.weights import Checkpoint
from kernels.dispatch import table as ops


class MLP:
    """down(silu(gate x) * up x). Gate and up are one matrix, so that x is read once."""

    def __init__(self, config: ModelConfig, checkpoint: Checkpoint, prefix: str) -> None:
        inner, hidden = config.intermediate_size, config.hidden_size
        self.gate_up = torch.cat(
            [checkpoint.matrix(f"{prefix}.{name}_proj.weight", (inner, hidden)) for name in ("gate", "up")]
        )
        self.down = checkpoint.matrix(f"{prefix}.down_proj.weight", (hidden, inner))

    def add_to(self, residual: Tensor, scale: Tensor, eps: float) -> None:
        """Add the block's output for the normalized residual [T, hidden] to it, in place; `scale` is the norm's."""
        ops.swiglu_linear_add(residual, ops.norm_linear(residual, scale, eps, self.gate_up), self.down)
