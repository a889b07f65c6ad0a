"""A model that a person describes in a dozen numbers, as a shape that the cost formulas take.

The numbers start as those of Llama 2 7B (Touvron and others, arXiv 2307.09288): every layer full attention, and as many
key and value heads as query heads. With linear layers it becomes a hybrid like those of the presets.
"""

from __future__ import annotations

import msgspec

from engine.account.cost import total_parameters
from engine.account.record import LayerType, ModelShape

MOST = {
    "full_layers": 256, "linear_layers": 256, "width": 65_536, "inner_width": 262_144, "vocabulary": 1_048_576,
    "heads": 512, "kv_heads": 512, "head_dim": 1024, "value_heads": 512, "key_heads": 512, "state_dim": 1024, "tied": 1,
}  # fmt: skip
"""Field -> the largest value that is taken."""


class ShapeError(ValueError):
    """Numbers that no model can have; the message is for the person who typed them."""


class Numbers(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the formulas need to know. A field that is 0 says that the model has nothing of the kind."""

    full_layers: int = 32
    linear_layers: int = 0
    width: int = 4096
    inner_width: int = 11_008
    vocabulary: int = 32_000
    heads: int = 32
    kv_heads: int = 32
    head_dim: int = 128
    value_heads: int = 0
    """Heads that have a state, in a linear layer."""
    key_heads: int = 0
    """Heads of queries and keys in a linear layer; they change the weights, not the state."""
    state_dim: int = 128
    """Rows and columns of one head's state, alike."""
    tied: int = 0
    """1: the output head is the embedding."""

    @classmethod
    def of(cls, shape: ModelShape) -> Numbers:
        """The numbers of a known shape."""
        return cls(
            full_layers=shape.layer_types.count("full_attention"),
            linear_layers=shape.layer_types.count("linear_attention"),
            width=shape.hidden_size, inner_width=shape.intermediate_size, vocabulary=shape.vocab_size,
            heads=shape.num_attention_heads, kv_heads=shape.num_key_value_heads, head_dim=shape.head_dim,
            value_heads=shape.linear_num_value_heads, key_heads=shape.linear_num_key_heads,
            state_dim=shape.linear_value_head_dim, tied=int(shape.tie_word_embeddings),
        )  # fmt: skip

    @classmethod
    def read(cls, text: str) -> Numbers:
        """Numbers from `full_layers=32 heads=32 ...`, the others as they start; raises `ShapeError`."""
        pairs = dict(pair.partition("=")[::2] for pair in text.split())
        try:
            return msgspec.convert(pairs, cls, strict=False)
        except msgspec.ValidationError as error:
            raise ShapeError(str(error)) from None

    def written(self) -> str:
        """The text that `read` reads."""
        return " ".join(f"{name}={value}" for name, value in msgspec.structs.asdict(self).items())


def shape_of(numbers: Numbers, name: str) -> ModelShape:
    """The shape: bf16 weights, keys, values and activations, fp32 state, full layers spread evenly.

    Raises `ShapeError` in plain words.
    """
    _check(numbers)
    linear = numbers.linear_layers > 0
    values, keys, dim = (numbers.value_heads, numbers.key_heads, numbers.state_dim) if linear else (0, 0, 0)
    shape = ModelShape(
        name=name, architecture="described", layer_types=_spread(numbers.full_layers, numbers.linear_layers),
        hidden_size=numbers.width, intermediate_size=numbers.inner_width, vocab_size=numbers.vocabulary,
        num_attention_heads=numbers.heads, num_key_value_heads=numbers.kv_heads, head_dim=numbers.head_dim,
        linear_num_key_heads=keys, linear_num_value_heads=values, linear_key_head_dim=dim, linear_value_head_dim=dim,
        linear_conv_kernel_dim=4 if linear else 0, attn_output_gate=linear, tie_word_embeddings=bool(numbers.tied),
        context_length=0, parameters=0, weight_bytes=0, weight_dtype="bfloat16", kv_dtype="bfloat16",
        state_dtype="float32", activation_dtype="bfloat16",
    )  # fmt: skip
    parameters = total_parameters(shape)
    return msgspec.structs.replace(shape, parameters=parameters, weight_bytes=2 * parameters)


def _check(numbers: Numbers) -> None:
    for field, most in MOST.items():
        if not 0 <= getattr(numbers, field) <= most:
            raise ShapeError(f"{field} must be from 0 to {most:,}.")
    if numbers.full_layers + numbers.linear_layers == 0:
        raise ShapeError("A model needs at least one layer.")
    if min(numbers.width, numbers.inner_width, numbers.vocabulary, numbers.heads, numbers.head_dim) == 0:
        raise ShapeError("Width, inner width, vocabulary, heads and head size must be above 0.")
    if numbers.kv_heads == 0 or numbers.heads % numbers.kv_heads:
        raise ShapeError(f"{numbers.heads} query heads cannot share {numbers.kv_heads} key and value heads evenly.")
    if numbers.linear_layers and 0 in (numbers.value_heads, numbers.key_heads, numbers.state_dim):
        raise ShapeError("Linear layers need at least one state head and one key head, of a size above 0.")


def _spread(full: int, linear: int) -> list[LayerType]:
    """Full layers as evenly among the others as they go, the last layer full: three and one, three and one."""
    n = full + linear
    return ["full_attention" if (at + 1) * full // n > at * full // n else "linear_attention" for at in range(n)]
