"""What a forward pass costs, in bytes and operations, from the model's shape alone.

The formulas are laws 3, 4, 6 and 7 of the course, counted in whole bytes and whole operations. They count what a pass
reads from and writes to memory once, whatever stays in registers and caches meanwhile:

    weights   body once a step, head once if odds are asked for, one embedding row a token
    KV cache  every pass reads keys and values of all positions up to its last token, and writes those of its own tokens
    state     every pass reads and writes each linear layer's recurrent state once

Sources: Yang, Kautz, Hatamizadeh, "Gated Delta Networks" (arXiv 2412.06464) for the recurrence; Williams, Waterman,
Patterson, "Roofline" (CACM 2009) for counting operations and bytes; transformers 5.24 `qwen3_5` for the parameter
shapes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from engine.account.record import ModelShape

DTYPE_BYTES = {"float32": 4, "bfloat16": 2, "float16": 2, "int8": 1}


class PassCost(NamedTuple):
    """What one pass reads, writes and computes for one sequence, and what the sequence holds afterwards (bytes)."""

    weight_bytes_read: int
    kv_bytes_read: int
    kv_bytes_written: int
    state_bytes_read: int
    state_bytes_written: int
    operations: int
    positions_held: int
    kv_bytes_held: int
    state_bytes_held: int
    window_bytes_held: int


def kv_bytes_per_position(shape: ModelShape) -> int:
    """Keys and values of one position over all full-attention layers (law 3); linear layers hold none."""
    per_layer = 2 * shape.num_key_value_heads * shape.head_dim * DTYPE_BYTES[shape.kv_dtype]
    return _full_layers(shape) * per_layer


def kv_bytes(shape: ModelShape, positions: int) -> int:
    """Bytes of KV cache that `positions` positions hold."""
    return positions * kv_bytes_per_position(shape)


def recurrent_state_bytes(shape: ModelShape) -> int:
    """One sequence's recurrent state over all linear layers; the same at every length (law 4)."""
    return _linear_layers(shape) * _state_elements(shape) * DTYPE_BYTES[shape.state_dtype]


def window_bytes(shape: ModelShape) -> int:
    """One sequence's convolution windows: the last kernel - 1 columns of each channel, counted apart from the state."""
    columns = shape.linear_conv_kernel_dim - 1
    return _linear_layers(shape) * _conv_channels(shape) * columns * DTYPE_BYTES[shape.activation_dtype]


def crossover_positions(shape: ModelShape) -> int | None:
    """The first length at which the KV cache is at least as large as the recurrent state; None if the model lacks
    either.
    """
    per_position, state = kv_bytes_per_position(shape), recurrent_state_bytes(shape)
    return -(-state // per_position) if per_position and state else None


def body_parameters(shape: ModelShape) -> int:
    """Weights of all layers and the last norm, without embedding and head."""
    per_layer = {"full_attention": _attention_parameters(shape), "linear_attention": _delta_net_parameters(shape)}
    shared = 3 * shape.hidden_size * shape.intermediate_size + 2 * shape.hidden_size
    return sum(per_layer[kind] + shared for kind in shape.layer_types) + shape.hidden_size


def head_parameters(shape: ModelShape) -> int:
    """Weights of the output head: as many as the input embedding has, and the same ones if the two are tied."""
    return shape.vocab_size * shape.hidden_size


def total_parameters(shape: ModelShape) -> int:
    """Weights of the text model, a tied embedding counted once."""
    return body_parameters(shape) + head_parameters(shape) * (1 if shape.tie_word_embeddings else 2)


def step_weight_bytes(shape: ModelShape, n_tokens: int = 1, n_logits: int = 1) -> int:
    """Weight bytes that one step reads, whoever shares it: body once, head once if it gives odds, one row a token (law
    6).
    """
    return Rates.of(shape).weight_bytes(n_tokens, n_logits)


def kv_bytes_read(shape: ModelShape, start_position: int, n_tokens: int) -> int:
    """KV bytes that a pass over `n_tokens` from `start_position` on reads: everything before it and its own."""
    return kv_bytes(shape, start_position + n_tokens)


def kv_bytes_written(shape: ModelShape, n_tokens: int) -> int:
    """KV bytes that a pass adds."""
    return kv_bytes(shape, n_tokens)


def state_bytes_read(shape: ModelShape) -> int:
    """Recurrent-state bytes that a pass reads for one sequence, however many tokens it takes in."""
    return recurrent_state_bytes(shape)


def state_bytes_written(shape: ModelShape) -> int:
    """Recurrent-state bytes that a pass writes for one sequence."""
    return recurrent_state_bytes(shape)


def pass_operations(shape: ModelShape, start_position: int, n_tokens: int, n_logits: int) -> int:
    """Arithmetic operations of one pass (law 7): a multiplication and an addition count as two."""
    return Rates.of(shape).operations(start_position, n_tokens, n_logits)


@dataclass(frozen=True)
class Rates:
    """The formulas' constants of one model, worked out once so that accounting for a pass is a few multiplications."""

    kv_per_position: int
    state: int
    window: int
    body_bytes: int
    head_bytes: int
    row_bytes: int
    operations_per_token: int
    operations_per_logits: int
    operations_per_attended: int
    """For one query position and one position that it attends to, over all query heads and full layers."""
    operations_per_write: int
    """To decay the recurrent states and add one token's write: what a rejected draft is spared."""

    @classmethod
    def of(cls, shape: ModelShape) -> Rates:
        """Work the constants out. The weights read are those held in memory, less an embedding that only rows are read
        of.
        """
        head = _table_bytes(shape)
        body = shape.weight_bytes - head * (1 if shape.tie_word_embeddings else 2)
        return cls(
            kv_per_position=kv_bytes_per_position(shape),
            state=recurrent_state_bytes(shape),
            window=window_bytes(shape),
            body_bytes=body,
            head_bytes=head,
            row_bytes=head // shape.vocab_size,
            operations_per_token=2 * body_parameters(shape) + _linear_layers(shape) * _delta_rule_operations(shape),
            operations_per_logits=2 * head_parameters(shape),
            operations_per_attended=4 * shape.head_dim * shape.num_attention_heads * _full_layers(shape),
            operations_per_write=3 * _state_elements(shape) * _linear_layers(shape),
        )

    def weight_bytes(self, n_tokens: int, n_logits: int) -> int:
        """See `step_weight_bytes`."""
        return self.body_bytes + (self.head_bytes if n_logits else 0) + n_tokens * self.row_bytes

    def operations(self, start_position: int, n_tokens: int, n_logits: int) -> int:
        """See `pass_operations`. Token i of the pass attends to start_position + i + 1 positions, itself included."""
        attended = n_tokens * start_position + n_tokens * (n_tokens + 1) // 2
        return (
            n_tokens * self.operations_per_token
            + n_logits * self.operations_per_logits
            + attended * self.operations_per_attended
        )

    def pass_cost(
        self, start_position: int, n_tokens: int, n_logits: int, step_weight_bytes: int, *,
        drafted: int = 0, accepted: int = 0, kept: bool = True,
    ) -> PassCost:  # fmt: skip
        """All figures of one sequence's part in a step; the step's weight bytes are the same for all who share it.

        Of the `n_tokens` the last `drafted` are guesses, of which `accepted` stood: then the state is read once for the
        outputs and once more to fold in what stood. Without `kept` nothing is held afterwards.
        """
        reach = start_position + n_tokens
        rejected = drafted - accepted
        held = (reach - rejected) if kept else 0
        holds_state = int(held > 0)
        operations = self.operations(start_position, n_tokens, n_logits) - rejected * self.operations_per_write
        return PassCost(
            weight_bytes_read=step_weight_bytes,
            kv_bytes_read=reach * self.kv_per_position,
            kv_bytes_written=n_tokens * self.kv_per_position,
            state_bytes_read=self.state * (2 if drafted else 1),
            state_bytes_written=self.state,
            operations=operations,
            positions_held=held,
            kv_bytes_held=held * self.kv_per_position,
            state_bytes_held=holds_state * self.state,
            window_bytes_held=holds_state * self.window,
        )


def _table_bytes(shape: ModelShape) -> int:
    """Bytes of the embedding or the head; unless counted, a dtype without whole bytes (quantized) is spread evenly."""
    if shape.head_bytes is not None:
        return shape.head_bytes
    if shape.weight_dtype in DTYPE_BYTES:
        return head_parameters(shape) * DTYPE_BYTES[shape.weight_dtype]
    return shape.weight_bytes * head_parameters(shape) // total_parameters(shape)


def _full_layers(shape: ModelShape) -> int:
    return shape.layer_types.count("full_attention")


def _linear_layers(shape: ModelShape) -> int:
    return shape.layer_types.count("linear_attention")


def _conv_channels(shape: ModelShape) -> int:
    keys = shape.linear_num_key_heads * shape.linear_key_head_dim
    return 2 * keys + shape.linear_num_value_heads * shape.linear_value_head_dim


def _state_elements(shape: ModelShape) -> int:
    return shape.linear_num_value_heads * shape.linear_value_head_dim * shape.linear_key_head_dim


def _attention_parameters(shape: ModelShape) -> int:
    """Query, key, value and output matrices; with an output gate, also the gate's and the two head norms."""
    queries = shape.num_attention_heads * shape.head_dim
    keys = shape.num_key_value_heads * shape.head_dim
    plain = shape.hidden_size * (2 * queries + 2 * keys)
    return plain + shape.hidden_size * queries + 2 * shape.head_dim if shape.attn_output_gate else plain


def _delta_net_parameters(shape: ModelShape) -> int:
    """Projections (qkv, z, b, a, output), convolution, A_log and dt_bias, and the output norm."""
    values = shape.linear_num_value_heads * shape.linear_value_head_dim
    channels = _conv_channels(shape)
    projections = shape.hidden_size * (channels + 2 * values + 2 * shape.linear_num_value_heads)
    small = channels * shape.linear_conv_kernel_dim + 2 * shape.linear_num_value_heads + shape.linear_value_head_dim
    return projections + small


def _delta_rule_operations(shape: ModelShape) -> int:
    """One token in one layer: decay the state (1 per element), read it with k (2), write k u^T (2), read it with q (2),
    and beta (v - read) for each value (2).
    """
    return 7 * _state_elements(shape) + 2 * shape.linear_num_value_heads * shape.linear_value_head_dim


def _preset(
    name: str, hidden: int, intermediate: int, full: int, heads: int, kv_heads: int, value_heads: int, *, tied: bool
) -> ModelShape:
    """One size of the family: every fourth layer is full attention; weights, KV and activations bf16, state fp32."""
    shape = ModelShape(
        name=name, architecture="Qwen3_5ForCausalLM",
        layer_types=["linear_attention", "linear_attention", "linear_attention", "full_attention"] * full,
        hidden_size=hidden, intermediate_size=intermediate, vocab_size=248_320,
        num_attention_heads=heads, num_key_value_heads=kv_heads, head_dim=256,
        linear_num_key_heads=16, linear_num_value_heads=value_heads,
        linear_key_head_dim=128, linear_value_head_dim=128, linear_conv_kernel_dim=4,
        attn_output_gate=True, tie_word_embeddings=tied, context_length=262_144, parameters=0, weight_bytes=0,
        weight_dtype="bfloat16", kv_dtype="bfloat16", state_dtype="float32", activation_dtype="bfloat16",
    )  # fmt: skip
    parameters = total_parameters(shape)
    return msgspec.structs.replace(shape, parameters=parameters, weight_bytes=2 * parameters)


def _uniform(
    name: str, hidden: int, intermediate: int, layers: int, heads: int, kv_heads: int, vocabulary: int, context: int
) -> ModelShape:
    """A Llama shape, the uniform-attention contrast: every layer is full attention, nothing is recurrent; all bf16."""
    shape = ModelShape(
        name=name, architecture="LlamaForCausalLM", layer_types=["full_attention"] * layers,
        hidden_size=hidden, intermediate_size=intermediate, vocab_size=vocabulary,
        num_attention_heads=heads, num_key_value_heads=kv_heads, head_dim=hidden // heads,
        linear_num_key_heads=0, linear_num_value_heads=0, linear_key_head_dim=0, linear_value_head_dim=0,
        linear_conv_kernel_dim=0, attn_output_gate=False, tie_word_embeddings=True, context_length=context,
        parameters=0, weight_bytes=0, weight_dtype="bfloat16", kv_dtype="bfloat16", state_dtype="float32",
        activation_dtype="bfloat16",
    )  # fmt: skip
    parameters = total_parameters(shape)
    return msgspec.structs.replace(shape, parameters=parameters, weight_bytes=2 * parameters)


PRESET_SHAPES: dict[str, ModelShape] = {
    shape.name: shape
    for shape in (
        _preset("Qwen3.5-0.8B", 1024, 3584, 6, 8, 2, 16, tied=True),
        _preset("Qwen3.5-2B", 2048, 6144, 6, 8, 2, 16, tied=True),
        _preset("Qwen3.5-4B", 2560, 9216, 8, 16, 4, 32, tied=True),
        _preset("Qwen3.5-9B", 4096, 12288, 8, 16, 4, 32, tied=False),
        _preset("Qwen3.5-27B", 5120, 17408, 16, 24, 4, 48, tied=False),
        _uniform("SmolLM2-135M", 576, 1536, 30, 9, 3, 49_152, 8192),
    )
}

PRESET_SOURCE = (
    "Shapes of the Qwen3.5 text models as published with derived checkpoints (config.json) and training scripts "
    "(THUDM/slime); parameters computed from the shapes, equal to three digits to the counts in llama.cpp PR 20455; "
    "read in 2026-08. Qwen3.8-27B has, by all accounts, the shape of the 27B. SmolLM2-135M as its GGUF file says."
)
