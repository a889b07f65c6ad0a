"""The fields of a Llama checkpoint's `config.json`: uniform layers of full attention, without gates and head norms.

Sources: Llama, arXiv 2302.13971; grouped queries, arXiv 2305.13245.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.model.config_fields import count, flag, number, refuse_others, rope_fields, token_ids

LLAMA_TYPE = "llama"

_COUNTS = (
    "vocab_size", "hidden_size", "intermediate_size", "num_attention_heads", "num_key_value_heads",
    "max_position_embeddings",
)  # fmt: skip

# Field -> the only value that is computed here. A file that leaves one out means this value.
_FIXED = {
    "hidden_act": "silu",
    "attention_bias": False,
    "mlp_bias": False,
    "quantization_config": None,
}

_NO_LINEAR_LAYERS = dict.fromkeys(
    (
        "linear_num_key_heads", "linear_num_value_heads", "linear_key_head_dim", "linear_value_head_dim",
        "linear_conv_kernel_dim",
    ),
    0,
)  # fmt: skip


def llama_fields(raw: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a `ModelConfig`; raises CheckpointError."""
    refuse_others(raw, _FIXED)
    rope = rope_fields(raw)
    refuse_others(rope, {"partial_rotary_factor": 1.0})
    counts = {name: count(raw, name) for name in _COUNTS}
    return {
        **counts,
        **_NO_LINEAR_LAYERS,
        "architecture": str((raw.get("architectures") or ["LlamaForCausalLM"])[0]),
        "layer_types": ("full_attention",) * count(raw, "num_hidden_layers"),
        "head_dim": _head_dim(raw, counts),
        "rms_norm_eps": number(raw, "rms_norm_eps"),
        "rope_theta": number(rope, "rope_theta"),
        "partial_rotary_factor": 1.0,
        "tie_word_embeddings": flag(raw, "tie_word_embeddings"),
        "eos_token_ids": token_ids(raw.get("eos_token_id"), "eos_token_id"),
        "attn_output_gate": False,
        "zero_centred_norms": False,
    }


def _head_dim(raw: Mapping[str, Any], counts: Mapping[str, int]) -> int:
    """Older files leave it out: the heads share the width."""
    if raw.get("head_dim") is not None:
        return count(raw, "head_dim")
    return counts["hidden_size"] // counts["num_attention_heads"]
