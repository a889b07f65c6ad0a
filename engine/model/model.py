"""The whole model: tokens of a batch in, logits of the rows asked for out. Prefill and decode are the same code."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor

from engine.account.record import ModelShape
from engine.memory.memory import Memory
from engine.model.attention import GatedAttention
from engine.model.batch import Batch
from engine.model.config import ModelConfig
from engine.model.delta_net import GatedDeltaNet
from engine.model.mlp import MLP
from engine.model.recorded_step import RecordedSteps
from engine.model.weights import Checkpoint
from kernels import dispatch
from kernels.dispatch import table as ops
from kernels.reference import rotary_table

FIRST_ROTATIONS = 1024
"""Positions in the first table of rotations."""


class Layer:
    """One layer: x + mixer(norm(x)), then x + mlp(norm(x)). `number` counts from 0 over the whole model."""

    def __init__(self, config: ModelConfig, checkpoint: Checkpoint, number: int) -> None:
        prefix = f"layers.{number}"
        self.number = number
        self.kind = config.layer_types[number]
        self._eps = config.rms_norm_eps
        self.mixer_scale = 1 + checkpoint.vector(f"{prefix}.input_layernorm.weight", (config.hidden_size,))
        self.mixer: GatedAttention | GatedDeltaNet
        if self.kind == "full_attention":
            self.mixer = GatedAttention(config, checkpoint, f"{prefix}.self_attn")
            self._kept_at = config.full_layers.index(number)
        else:
            self.mixer = GatedDeltaNet(config, checkpoint, f"{prefix}.linear_attn")
            self._kept_at = config.linear_layers.index(number)
        self.mlp_scale = 1 + checkpoint.vector(f"{prefix}.post_attention_layernorm.weight", (config.hidden_size,))
        self.mlp = MLP(config, checkpoint, f"{prefix}.mlp")

    def apply(self, x: Tensor, batch: Batch, memory: Memory, rotary: Tensor) -> None:
        """Take x [T, hidden] through the layer, in place; the memory of the batch's sequences moves on with it."""
        if isinstance(self.mixer, GatedAttention):
            self.mixer.add_to(x, self.mixer_scale, batch, memory.pages.layers[self._kept_at], rotary)
        else:
            self.mixer.add_to(x, self.mixer_scale, batch, memory.slots.layers[self._kept_at])
        self.mlp.add_to(x, self.mlp_scale, self._eps)


class Model:
    """A loaded checkpoint. Activations, recurrent state and logits are float32 whatever the weights are."""

    def __init__(self, config: ModelConfig, checkpoint: Checkpoint, name: str, kv_dtype: torch.dtype) -> None:
        """Take all weights from the checkpoint; raises CheckpointError. `Model.load` is the usual way."""
        dispatch.prepare()
        self.config = config
        self.kv_dtype = kv_dtype
        table_shape = (config.vocab_size, config.hidden_size)
        self.embedding = checkpoint.matrix("embed_tokens.weight", table_shape)
        self.layers = [Layer(config, checkpoint, number) for number in range(len(config.layer_types))]
        self.final_scale = 1 + checkpoint.vector("norm.weight", (config.hidden_size,))
        self.head = checkpoint.head(table_shape, self.embedding, tied=config.tie_word_embeddings)
        checkpoint.finish()
        self.shape: ModelShape = config.shape(
            name, parameters=checkpoint.count_taken, weight_bytes=checkpoint.bytes_taken,
            weight_dtype=_dtype_name(self.embedding.dtype), kv_dtype=_dtype_name(kv_dtype),
        )  # fmt: skip
        self._rotary = torch.empty(0, config.rotary_dim)
        self._recorded = RecordedSteps(self.embed, self._through_layers, config.context_length)

    @classmethod
    def load(
        cls, folder: str | Path, dtype: torch.dtype = torch.bfloat16, kv_dtype: torch.dtype = torch.bfloat16
    ) -> Model:
        """Load a `qwen3_5_text` folder, or the text model of a multimodal one.

        `dtype` is that of the matrices in memory, `kv_dtype` that of the KV cache (made by `new_memory`). Raises
        CheckpointError.
        """
        folder = Path(folder)
        return cls(ModelConfig.load(folder), Checkpoint(folder, dtype), folder.resolve().name, kv_dtype)

    def new_memory(self, *, n_slots: int, n_positions: int) -> Memory:
        """Memory for `n_slots` sequences at once that hold `n_positions` positions between them."""
        return Memory.for_model(self.config, n_slots=n_slots, n_positions=n_positions, kv_dtype=self.kv_dtype)

    @torch.inference_mode()
    def forward(self, batch: Batch, memory: Memory) -> Tensor:
        """Run the batch through the model; its sequences' pages and slots in memory are written.

        Returns the logits of `batch.logit_rows`, [n, vocab] float32.
        """
        if self._recorded.applies_to(batch):
            return self._recorded.run(batch, memory, self.rotary(batch))
        return self._through_layers(self.embed(batch), batch, memory)

    def _through_layers(self, x: Tensor, batch: Batch, memory: Memory) -> Tensor:
        rotary = self.rotary(batch)
        for layer in self.layers:
            layer.apply(x, batch, memory, rotary)
        return self.logits(x, batch)

    def embed(self, batch: Batch) -> Tensor:
        """The residual stream at its start: each token's row of the embedding, [T, hidden] float32."""
        x: Tensor = ops.embedding(batch.token_ids, self.embedding)
        return x

    def logits(self, x: Tensor, batch: Batch) -> Tensor:
        """Logits [n, vocab] of the rows asked for, from the residual stream [T, hidden] at its end."""
        if not len(batch.logit_rows):
            return x.new_empty(0, len(self.head))
        if len(batch.logit_rows) != len(x):
            x = x[batch.logit_rows]
        logits: Tensor = ops.norm_linear(x, self.final_scale, self.config.rms_norm_eps, self.head)
        return logits

    def rotary(self, batch: Batch) -> Tensor:
        """Table of rotations that reaches over the batch's positions; it grows by doubling."""
        needed = max(batch.context_lengths)
        if needed > len(self._rotary):
            size = max(needed, 2 * len(self._rotary), FIRST_ROTATIONS)
            self._rotary = rotary_table(size, self.config.rotary_dim, self.config.rope_theta)
        return self._rotary


def _dtype_name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
