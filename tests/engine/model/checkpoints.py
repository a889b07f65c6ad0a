"""Random checkpoints of the real architecture, written by transformers, which is also the oracle for them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import torch
from transformers import Qwen3_5ForCausalLM, Qwen3_5TextConfig

LINEAR, FULL = "linear_attention", "full_attention"

VARIANTS: dict[str, dict[str, Any]] = {
    # The family's own proportions: value heads twice the key heads, a quarter of the head rotated, tied.
    "family": {},
    "untied, equal heads, half rotated": {
        "tie_word_embeddings": False, "linear_num_key_heads": 3, "linear_num_value_heads": 3, "linear_key_head_dim": 24,
        "linear_value_head_dim": 40, "num_attention_heads": 3, "num_key_value_heads": 3, "head_dim": 20,
        "partial_rotary_factor": 0.5, "hidden_size": 48, "intermediate_size": 100, "linear_conv_kernel_dim": 3,
    },
    "three values a key, one key head, all rotated": {
        "linear_num_key_heads": 2, "linear_num_value_heads": 6, "linear_key_head_dim": 64, "linear_value_head_dim": 32,
        "num_attention_heads": 6, "num_key_value_heads": 1, "partial_rotary_factor": 1.0, "rope_theta": 1e6,
        "layer_types": [LINEAR, FULL, FULL, LINEAR],
    },
}  # fmt: skip

# The norm after a DeltaNet head scales outputs near 0 up with all their rounding. A larger eps than the family's keeps
# two float32 computations of a random model comparable; the story model is compared with its own.
BASE: dict[str, Any] = {
    "vocab_size": 300, "hidden_size": 64, "intermediate_size": 96, "num_attention_heads": 4, "num_key_value_heads": 2,
    "head_dim": 32, "linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 32,
    "linear_value_head_dim": 16, "linear_conv_kernel_dim": 4, "max_position_embeddings": 512,
    "tie_word_embeddings": True, "rms_norm_eps": 1e-5, "layer_types": [LINEAR, LINEAR, LINEAR, FULL],
    "partial_rotary_factor": 0.25, "rope_theta": 10_000.0, "eos_token_id": 299,
}  # fmt: skip


def text_config(**changes: Any) -> Qwen3_5TextConfig:
    """A small configuration with every field written out."""
    fields = {**BASE, **changes}
    rope = {name: fields.pop(name) for name in ("partial_rotary_factor", "rope_theta")}
    return Qwen3_5TextConfig(
        num_hidden_layers=len(fields["layer_types"]), rope_parameters={"rope_type": "default", **rope}, **fields
    )


def random_model(config: Qwen3_5TextConfig, seed: int = 0) -> Qwen3_5ForCausalLM:
    """Every weight drawn anew: zeros in the norms or ones in dt_bias would hide a wrong convention."""
    torch.manual_seed(seed)
    model = Qwen3_5ForCausalLM(config).eval()
    for name, weight in model.named_parameters():
        if name.endswith(("A_log", "dt_bias")):
            weight.data.uniform_(-1.5, 1.0)
        elif weight.dim() == 1:
            weight.data.normal_(0.0, 0.3)
            if name.endswith("linear_attn.norm.weight"):
                weight.data.add_(1.0)
        elif name.endswith("conv1d.weight"):
            weight.data.normal_(0.0, 0.5)
        else:
            weight.data.normal_(0.0, 1.0 / math.sqrt(weight.shape[1]))
    return model


def write(folder: Path, model: Qwen3_5ForCausalLM) -> Path:
    """Save as a user's checkpoint is saved; returns the folder."""
    model.save_pretrained(folder)
    return folder
