"""Ways of keeping what attention needs of the past, in bytes for each token held.

    MHA   every query head has keys and values of its own (Vaswani and others, arXiv 1706.03762)
    GQA   groups of query heads share them (Ainslie and others, arXiv 2305.13245)
    MQA   all query heads share one pair (Shazeer, arXiv 1911.02150)
    MLA   one compressed vector stands for all heads' keys and values, and one short key that carries the position
          (DeepSeek-V2, arXiv 2405.04434: 512 and 64 numbers)

A hybrid keeps one of these in few of its layers, and in the others a state of fixed size.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

from engine.account import cost
from engine.account.record import ModelShape

Kind = Literal["MHA", "GQA", "MQA", "MLA"]
KINDS: tuple[Kind, ...] = get_args(Kind)

LATENT, POSITION_KEY = 512, 64
"""DeepSeek-V2's numbers of MLA."""


class Way(NamedTuple):
    """One way, for one model: bytes a token over all layers that keep any."""

    kind: Kind
    layers: int
    numbers_per_layer: int
    bytes_per_token: int


def numbers_per_layer(
    kind: Kind, heads: int, kv_heads: int, head_dim: int, latent: int = LATENT, position_key: int = POSITION_KEY
) -> int:
    """How many numbers one layer keeps for one token."""
    match kind:
        case "MHA":
            return 2 * heads * head_dim
        case "GQA":
            return 2 * kv_heads * head_dim
        case "MQA":
            return 2 * head_dim
    return latent + position_key


def ways(shape: ModelShape, layers: int, latent: int = LATENT, position_key: int = POSITION_KEY) -> list[Way]:
    """Every way with this model's heads and KV dtype, kept in so many layers."""
    width = cost.DTYPE_BYTES[shape.kv_dtype]
    numbers = [
        numbers_per_layer(
            kind, shape.num_attention_heads, shape.num_key_value_heads, shape.head_dim, latent, position_key
        )
        for kind in KINDS
    ]
    return [Way(kind, layers, n, layers * n * width) for kind, n in zip(KINDS, numbers, strict=True)]


def layer_bytes(shape: ModelShape, positions: int) -> list[int]:
    """What each layer keeps, from the first to the last: KV cache of `positions` tokens, or its recurrent state."""
    counts = {kind: max(1, shape.layer_types.count(kind)) for kind in ("full_attention", "linear_attention")}
    per_layer = {
        "full_attention": cost.kv_bytes(shape, positions) // counts["full_attention"],
        "linear_attention": cost.recurrent_state_bytes(shape) // counts["linear_attention"],
    }
    return [per_layer[kind] for kind in shape.layer_types]
