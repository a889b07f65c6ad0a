"""What a checkpoint's `config.json` says of the model, every field read explicitly.

Defaults hide a wrong configuration (transformers' own are the 9B's but for two), so a field that shapes the computation
must be in the file, and one that asks for something this engine does not compute is refused by name. Two families
are known: Qwen3.5's text models, read here, and Llama (`llama_config`), whose layers all have full attention.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.account.record import LayerType, ModelShape
from engine.model.config_fields import (
    CheckpointError,
    count,
    flag,
    number,
    read_json,
    refuse_others,
    rope_fields,
    token_ids,
)
from engine.model.llama_config import LLAMA_TYPE, llama_fields

__all__ = ["CheckpointError", "ModelConfig", "read_json", "token_ids"]

MODEL_TYPE = "qwen3_5_text"
MULTIMODAL_TYPES = ("qwen3_5",)


@dataclass(frozen=True)
class ModelConfig:
    """The text model of one checkpoint; field names follow `config.json`."""

    architecture: str
    vocab_size: int
    hidden_size: int
    intermediate_size: int
    layer_types: tuple[LayerType, ...]
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    linear_num_key_heads: int
    linear_num_value_heads: int
    linear_key_head_dim: int
    linear_value_head_dim: int
    linear_conv_kernel_dim: int
    rms_norm_eps: float
    rope_theta: float
    partial_rotary_factor: float
    tie_word_embeddings: bool
    max_position_embeddings: int
    eos_token_ids: tuple[int, ...]
    attn_output_gate: bool
    """Whether full-attention layers gate their output and normalize the heads of queries and keys."""
    zero_centred_norms: bool
    """Whether the norms around blocks and on heads scale by 1 + weight instead of weight."""

    @classmethod
    def load(cls, folder: str | Path) -> ModelConfig:
        """Read `folder/config.json`; raises CheckpointError."""
        return cls.from_dict(read_json(Path(folder) / "config.json"))

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> ModelConfig:
        """Build from the parsed file, a text model's or a multimodal one's (`text_config`); raises CheckpointError."""
        config = cls(**(llama_fields(raw) if raw.get("model_type") == LLAMA_TYPE else _qwen_fields(raw)))
        config._check_divisions()
        return config

    def _check_divisions(self) -> None:
        for many, few in (
            ("num_attention_heads", "num_key_value_heads"),
            ("linear_num_value_heads", "linear_num_key_heads"),
        ):
            if getattr(self, few) and getattr(self, many) % getattr(self, few):
                raise CheckpointError(
                    f"config.json: {many} ({getattr(self, many)}) is not a multiple of {few} ({getattr(self, few)})"
                )
        if not 0 < self.partial_rotary_factor <= 1 or self.rotary_dim % 2 or not self.rotary_dim:
            raise CheckpointError(
                f"config.json: partial_rotary_factor {self.partial_rotary_factor} of head_dim {self.head_dim} "
                "does not give an even number of rotated dimensions"
            )

    @property
    def full_layers(self) -> tuple[int, ...]:
        """Numbers of the layers with full attention: the only ones that hold a KV cache."""
        return tuple(i for i, kind in enumerate(self.layer_types) if kind == "full_attention")

    @property
    def linear_layers(self) -> tuple[int, ...]:
        """Numbers of the Gated DeltaNet layers: the ones that hold a recurrent state and a convolution window."""
        return tuple(i for i, kind in enumerate(self.layer_types) if kind == "linear_attention")

    @property
    def rotary_dim(self) -> int:
        """How many of a head's dimensions are rotated; the rest pass through."""
        return int(self.head_dim * self.partial_rotary_factor)

    @property
    def linear_key_dim(self) -> int:
        """Width of all key heads of a Gated DeltaNet layer together."""
        return self.linear_num_key_heads * self.linear_key_head_dim

    @property
    def linear_value_dim(self) -> int:
        """Width of all value heads of a Gated DeltaNet layer together."""
        return self.linear_num_value_heads * self.linear_value_head_dim

    @property
    def conv_channels(self) -> int:
        """Channels that the short convolution mixes: queries, keys and values."""
        return 2 * self.linear_key_dim + self.linear_value_dim

    @property
    def context_length(self) -> int:
        """Most positions that a sequence may hold."""
        return self.max_position_embeddings

    def shape(
        self, name: str, *, parameters: int, weight_bytes: int, weight_dtype: str, kv_dtype: str,
        state_dtype: str = "float32", activation_dtype: str = "float32", head_bytes: int | None = None,
    ) -> ModelShape:  # fmt: skip
        """What the run record says of this model; the arguments are what the config does not know."""
        same = {name: getattr(self, name) for name in ModelShape.__struct_fields__ if hasattr(self, name)}
        same["layer_types"] = list(self.layer_types)
        return ModelShape(
            name=name, parameters=parameters, weight_bytes=weight_bytes, head_bytes=head_bytes,
            weight_dtype=weight_dtype, kv_dtype=kv_dtype, state_dtype=state_dtype, activation_dtype=activation_dtype,
            **same,
        )  # fmt: skip


_COUNTS = (
    "vocab_size", "hidden_size", "intermediate_size", "num_attention_heads", "num_key_value_heads", "head_dim",
    "linear_num_key_heads", "linear_num_value_heads", "linear_key_head_dim", "linear_value_head_dim",
    "linear_conv_kernel_dim", "max_position_embeddings",
)  # fmt: skip

# Field -> the only value that is computed here. A file that leaves one out means this value.
_FIXED = {
    "hidden_act": "silu",
    "attention_bias": False,
    "attn_output_gate": True,
    "output_gate_type": "swish",
    "mamba_ssm_dtype": "float32",
    "quantization_config": None,
}


def _qwen_fields(raw: Mapping[str, Any]) -> dict[str, Any]:
    text = _text_part(raw)
    refuse_others(text, _FIXED)
    rope = rope_fields(text)
    return {
        "architecture": str((raw.get("architectures") or ["Qwen3_5ForCausalLM"])[0]),
        "layer_types": _layer_types(text),
        "rms_norm_eps": number(text, "rms_norm_eps"),
        "rope_theta": number(rope, "rope_theta"),
        "partial_rotary_factor": number(rope, "partial_rotary_factor"),
        "tie_word_embeddings": flag({**raw, **text}, "tie_word_embeddings"),
        "eos_token_ids": token_ids(text.get("eos_token_id"), "eos_token_id"),
        "attn_output_gate": True,
        "zero_centred_norms": True,
        **{name: count(text, name) for name in _COUNTS},
    }


def _text_part(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    kind = raw.get("model_type")
    if kind == MODEL_TYPE:
        return raw
    nested = raw.get("text_config")
    if kind in MULTIMODAL_TYPES and isinstance(nested, dict) and nested.get("model_type") == MODEL_TYPE:
        return nested
    raise CheckpointError(
        f"config.json: model_type is {kind!r}; computed here are {LLAMA_TYPE!r} and {MODEL_TYPE!r}, the latter alone "
        "or as text_config of 'qwen3_5'"
    )


def _layer_types(text: Mapping[str, Any]) -> tuple[LayerType, ...]:
    n_layers = count(text, "num_hidden_layers")
    types = text.get("layer_types")
    if types is None:
        interval = count(text, "full_attention_interval")
        types = ["linear_attention" if (i + 1) % interval else "full_attention" for i in range(n_layers)]
    if not isinstance(types, list) or len(types) != n_layers:
        raise CheckpointError(f"config.json: layer_types does not list num_hidden_layers ({n_layers}) layers")
    unknown = sorted({repr(kind) for kind in types if kind not in ("linear_attention", "full_attention")})
    if unknown:
        raise CheckpointError(
            f"config.json: layer_types has {', '.join(unknown)}; known are 'linear_attention' and 'full_attention'"
        )
    return tuple(types)
