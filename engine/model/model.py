"""The whole model: tokens of a batch in, logits of the rows asked for out. Prefill and decode are the same code."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from engine.account.record import ModelShape
from engine.memory.memory import Memory
from engine.memory.untouched import CPU
from engine.model.attention import GatedAttention
from engine.model.batch import Batch, Shape, Span
from engine.model.config import ModelConfig
from engine.model.delta_net import DRAFTED, GatedDeltaNet
from engine.model.journal import Journal
from engine.model.mlp import MLP
from engine.model.plain_attention import Attention
from engine.model.quantize import Quantizer, WeightFormat, format_name
from engine.model.recorded_step import Parts, RecordedSteps
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
        self.mixer_scale = norm_scale(config, checkpoint, f"{prefix}.input_layernorm.weight")
        self.mixer: GatedAttention | Attention | GatedDeltaNet
        if self.kind == "full_attention":
            attention = GatedAttention if config.attn_output_gate else Attention
            self.mixer = attention(config, checkpoint, f"{prefix}.self_attn")
            self._kept_at = config.full_layers.index(number)
        else:
            self.mixer = GatedDeltaNet(config, checkpoint, f"{prefix}.linear_attn")
            self._kept_at = config.linear_layers.index(number)
        self.mlp_scale = norm_scale(config, checkpoint, f"{prefix}.post_attention_layernorm.weight")
        self.mlp = MLP(config, checkpoint, f"{prefix}.mlp")

    def apply(self, x: Tensor, batch: Batch, memory: Memory, rotary: Tensor, journal: Journal | None = None) -> None:
        """Take x [T, hidden] through the layer, in place; the memory of the batch's sequences moves on with it."""
        if isinstance(self.mixer, GatedDeltaNet):
            self.mixer.add_to(x, self.mixer_scale, batch, memory.slots.layers[self._kept_at], journal)
        else:
            self.mixer.add_to(x, self.mixer_scale, batch, memory.pages.layers[self._kept_at], rotary)
        self.mlp.add_to(x, self.mlp_scale, self._eps)


class Model:
    """A loaded checkpoint. Activations, recurrent state and logits are float32 whatever the weights are."""

    def __init__(
        self, config: ModelConfig, checkpoint: Checkpoint, name: str, kv_dtype: torch.dtype,
        weights: WeightFormat = "bf16",
    ) -> None:  # fmt: skip
        """Take all weights from the checkpoint; raises CheckpointError. `Model.load` is the usual way."""
        self.device = checkpoint.device
        dispatch.prepare(self.device.type)
        self.config = config
        self.kv_dtype = kv_dtype
        quantizer = Quantizer(
            weights,
            body_kind=checkpoint.kind("layers.0.mlp.down_proj.weight"),
            table_kind=checkpoint.kind("embed_tokens.weight"),
        )
        table_shape = (config.vocab_size, config.hidden_size)
        embedding = checkpoint.matrix("embed_tokens.weight", table_shape)
        head = checkpoint.head(table_shape, embedding, tied=config.tie_word_embeddings)
        self.embedding, self.head = quantizer.tables(embedding, head)
        del embedding, head
        self.layers = []
        for number in range(len(config.layer_types)):
            self.layers.append(Layer(config, checkpoint, number))
            quantizer.blocks(self.layers[-1].mixer, self.layers[-1].mlp)
        self.final_scale = norm_scale(config, checkpoint, "norm.weight")
        checkpoint.finish()
        self.shape: ModelShape = config.shape(
            name, parameters=checkpoint.count_taken, weight_bytes=checkpoint.bytes_taken - quantizer.bytes_saved,
            head_bytes=self.head.nbytes, weight_dtype=format_name(self.layers[0].mlp.down, self.head),
            kv_dtype=_dtype_name(kv_dtype),
        )  # fmt: skip
        self._rotary = torch.empty(0, config.rotary_dim, device=self.device)
        self._recorded = RecordedSteps(
            Parts(self.embed, self._through_layers, self.logits), config.context_length, self.device
        )

    @classmethod
    def load(
        cls, folder: str | Path, dtype: torch.dtype = torch.bfloat16, kv_dtype: torch.dtype = torch.bfloat16,
        weights: WeightFormat = "bf16", device: torch.device = CPU,
    ) -> Model:  # fmt: skip
        """Load a `qwen3_5_text` or `llama` folder, or the text model of a multimodal one.

        `dtype` is that of the matrices in memory, unless `weights` packs them in fewer bits; `kv_dtype` is that of the
        KV cache (made by `new_memory`). Raises CheckpointError.
        """
        folder = Path(folder)
        checkpoint = Checkpoint(folder, dtype, device)
        return cls(ModelConfig.load(folder), checkpoint, folder.resolve().name, kv_dtype, weights)

    def operations(self, *, drafts: bool) -> frozenset[str]:
        """The operations of `kernels.dispatch` that a pass calls, one with drafts or a plain one."""
        mixers = {operation for layer in self.layers for operation in layer.mixer.operations}
        return frozenset({"embedding", "norm_linear", "linear_add", "swiglu_linear_add"} | mixers) - (
            frozenset() if drafts else frozenset(DRAFTED)
        )

    def new_memory(self, *, n_slots: int, n_positions: int) -> Memory:
        """Memory for `n_slots` sequences at once that hold `n_positions` positions between them."""
        return Memory.for_model(
            self.config, n_slots=n_slots, n_positions=n_positions, kv_dtype=self.kv_dtype, device=self.device
        )

    @torch.inference_mode()
    def forward(self, spans: Sequence[Span], memory: Memory, journal: Journal | None = None) -> Tensor:
        """Run the spans through the model in one pass; their sequences' pages and slots in memory are written.

        A pass with drafts needs a `journal`, which takes what the drafted sequences' states do not. Returns the logits
        of the rows asked for, [n, vocab] float32, on the model's device. Raises ValueError as `Batch.of` does.
        """
        shape = Shape.of(spans)
        if self._recorded.applies_to(spans, shape):
            rotary = self._rotary_for(max(span.context_length for span in spans))
            return self._recorded.run(spans, shape, memory, rotary, journal)
        batch = Batch.of(spans).on(self.device)
        x = self.embed(batch)
        self._through_layers(x, batch, memory, journal)
        return self.logits(x, batch)

    def _through_layers(self, x: Tensor, batch: Batch, memory: Memory, journal: Journal | None = None) -> None:
        rotary = self.rotary(batch)
        for layer in self.layers:
            layer.apply(x, batch, memory, rotary, journal)

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
        """Table of rotations that reaches over the batch's positions; a batch that is still empty has none."""
        return self._rotary_for(max(batch.context_lengths, default=0))

    def _rotary_for(self, n_positions: int) -> Tensor:
        """The table grows by doubling."""
        if n_positions > len(self._rotary):
            size = max(n_positions, 2 * len(self._rotary), FIRST_ROTATIONS)
            self._rotary = rotary_table(size, self.config.rotary_dim, self.config.rope_theta).to(self.device)
        return self._rotary


def norm_scale(config: ModelConfig, checkpoint: Checkpoint, name: str) -> Tensor:
    """What a norm around a block scales by [hidden]: the checkpoint's weight, or 1 + weight where zero-centred."""
    weight = checkpoint.vector(name, (config.hidden_size,))
    return 1 + weight if config.zero_centred_norms else weight


def _dtype_name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
