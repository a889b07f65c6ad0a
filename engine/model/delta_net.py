"""The Gated DeltaNet mixer (arXiv 2412.06464): memory of fixed size, rewritten by every token."""

from __future__ import annotations

import torch
from torch import Tensor

from engine.model.batch import Batch
from engine.model.config import ModelConfig
from engine.model.journal import Journal
from engine.model.weights import Checkpoint
from kernels.dispatch import table as ops

DRAFTED = ("drafted_gated_delta_net", "fold_drafts")
"""What a pass with drafts calls besides."""


class GatedDeltaNet:
    """Project, convolve over the last few tokens, apply the delta rule to every head's state, norm, gate, project."""

    operations = ("gated_delta_net", *DRAFTED)

    def __init__(self, config: ModelConfig, checkpoint: Checkpoint, prefix: str) -> None:
        heads, channels = config.linear_num_value_heads, config.conv_channels
        hidden, inner = config.hidden_size, config.linear_value_dim
        self._eps = config.rms_norm_eps
        parts = (("qkv", channels), ("z", inner), ("b", heads), ("a", heads))
        # One matrix, so that x is read once: queries, keys and values | output gate | write strength | decay.
        self.project_in = torch.cat(
            [checkpoint.matrix(f"{prefix}.in_proj_{part}.weight", (width, hidden)) for part, width in parts]
        )
        kernel = config.linear_conv_kernel_dim
        self.taps = checkpoint.vector(f"{prefix}.conv1d.weight", (channels, 1, kernel))[:, 0].T.contiguous()
        self.decay_rate = -checkpoint.vector(f"{prefix}.A_log", (heads,)).exp()
        self.dt_bias = checkpoint.vector(f"{prefix}.dt_bias", (heads,))
        # The one norm of these checkpoints that is not zero-centred.
        self.norm_weight = checkpoint.vector(f"{prefix}.norm.weight", (config.linear_value_head_dim,))
        self.project_out = checkpoint.matrix(f"{prefix}.out_proj.weight", (hidden, inner))

    def add_to(
        self, residual: Tensor, scale: Tensor, batch: Batch, kept: tuple[Tensor, Tensor], journal: Journal | None
    ) -> None:
        """Add the mixer's output for the normalized residual [T, hidden] to it, in place; `scale` is the norm's.

        `kept` is this layer's states [slots, Hv, V, K] and windows [slots, kernel - 1, channels]; the batch's slots are
        read and replaced, but for those of drafted sequences, whose writes go to the journal.
        """
        states, windows = kept
        arguments = (
            ops.norm_linear(residual, scale, self._eps, self.project_in),
            self.taps, self.decay_rate, self.dt_bias, self.norm_weight, self._eps,
            windows, states, batch.bounds_index, batch.state_slots,
        )  # fmt: skip
        if batch.drafted is None:
            heads = ops.gated_delta_net(*arguments)
        else:
            assert journal is not None, "a drafted pass needs a journal"
            heads, entry = ops.drafted_gated_delta_net(*arguments, batch.drafted)
            journal.add(batch, (entry, windows, states))
        ops.linear_add(residual, heads, self.project_out)
