"""What a checkpoint's `config.json` says of the model, every field read explicitly.

Defaults hide a wrong configuration (transformers' own are the 9B's but for two), so a field that shapes the computation
must be in the file, and one that asks for something this engine does not compute is refused by name.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.account.record import LayerType, ModelShape

MODEL_TYPE = "qwen3_5_text"
MULTIMODAL_TYPES = ("qwen3_5",)


class CheckpointError(ValueError):
    """The model folder cannot be used; the message says which file, field or weight is at fault."""


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

    @classmethod
    def load(cls, folder: str | Path) -> ModelConfig:
        """Read `folder/config.json`; raises CheckpointError."""
        return cls.from_dict(read_json(Path(folder) / "config.json"))

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> ModelConfig:
        """Build from the parsed file, a text model's or a multimodal one's (`text_config`); raises CheckpointError."""
        text = _text_part(raw)
        _refuse_what_is_not_computed(text)
        config = cls(
            architecture=str((raw.get("architectures") or ["Qwen3_5ForCausalLM"])[0]),
            layer_types=_layer_types(text),
            rms_norm_eps=_number(text, "rms_norm_eps"),
            rope_theta=_number(_rope(text), "rope_theta"),
            partial_rotary_factor=_number(_rope(text), "partial_rotary_factor"),
            tie_word_embeddings=_flag({**raw, **text}, "tie_word_embeddings"),
            eos_token_ids=token_ids(text.get("eos_token_id"), "eos_token_id"),
            **{name: _count(text, name) for name in _COUNTS},
        )
        config._check_divisions()
        return config

    def _check_divisions(self) -> None:
        for many, few in (
            ("num_attention_heads", "num_key_value_heads"),
            ("linear_num_value_heads", "linear_num_key_heads"),
        ):
            if getattr(self, many) % getattr(self, few):
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
        state_dtype: str = "float32", activation_dtype: str = "float32",
    ) -> ModelShape:  # fmt: skip
        """What the run record says of this model; the arguments are what the config does not know."""
        same = {name: getattr(self, name) for name in ModelShape.__struct_fields__ if hasattr(self, name)}
        same["layer_types"] = list(self.layer_types)
        return ModelShape(
            name=name, attn_output_gate=True, parameters=parameters, weight_bytes=weight_bytes,
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


def read_json(path: Path) -> dict[str, Any]:
    """Parse one JSON object of a model folder; raises CheckpointError naming the file."""
    try:
        parsed = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise CheckpointError(f"{path} is missing") from None
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise CheckpointError(f"{path} cannot be read as JSON: {error}") from error
    if not isinstance(parsed, dict):
        raise CheckpointError(f"{path} is not a JSON object")
    return parsed


def token_ids(value: Any, field: str) -> tuple[int, ...]:
    """A field that may be absent, one token id or a list of them; raises CheckpointError."""
    listed = [] if value is None else value if isinstance(value, list) else [value]
    if not all(type(item) is int and item >= 0 for item in listed):
        raise CheckpointError(f"{field} is {value!r}, not a token id or a list of them")
    return tuple(listed)


def _text_part(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    kind = raw.get("model_type")
    if kind == MODEL_TYPE:
        return raw
    nested = raw.get("text_config")
    if kind in MULTIMODAL_TYPES and isinstance(nested, dict) and nested.get("model_type") == MODEL_TYPE:
        return nested
    raise CheckpointError(
        f"config.json: model_type is {kind!r}; computed here is {MODEL_TYPE!r}, alone or as text_config of 'qwen3_5'"
    )


def _refuse_what_is_not_computed(text: Mapping[str, Any]) -> None:
    for field, computed in _FIXED.items():
        if text.get(field, computed) != computed:
            raise CheckpointError(f"config.json: {field} is {text[field]!r}; only {computed!r} is computed here")
    rope_type = _rope(text).get("rope_type", "default")
    if rope_type != "default":
        raise CheckpointError(f"config.json: rope_type is {rope_type!r}; only 'default' is computed here")


def _rope(text: Mapping[str, Any]) -> Mapping[str, Any]:
    """Rotary settings stand in `rope_parameters`, in older files beside the other fields."""
    nested = text.get("rope_parameters")
    return {**text, **nested} if isinstance(nested, dict) else text


def _layer_types(text: Mapping[str, Any]) -> tuple[LayerType, ...]:
    n_layers = _count(text, "num_hidden_layers")
    types = text.get("layer_types")
    if types is None:
        interval = _count(text, "full_attention_interval")
        types = ["linear_attention" if (i + 1) % interval else "full_attention" for i in range(n_layers)]
    if not isinstance(types, list) or len(types) != n_layers:
        raise CheckpointError(f"config.json: layer_types does not list num_hidden_layers ({n_layers}) layers")
    unknown = sorted({repr(kind) for kind in types if kind not in ("linear_attention", "full_attention")})
    if unknown:
        raise CheckpointError(
            f"config.json: layer_types has {', '.join(unknown)}; known are 'linear_attention' and 'full_attention'"
        )
    return tuple(types)


def _required(fields: Mapping[str, Any], name: str) -> Any:
    if name not in fields:
        raise CheckpointError(f"config.json: {name} is missing")
    return fields[name]


def _count(fields: Mapping[str, Any], name: str) -> int:
    value = _required(fields, name)
    if type(value) is not int or value < 1:
        raise CheckpointError(f"config.json: {name} is {value!r}, not a positive whole number")
    return value


def _number(fields: Mapping[str, Any], name: str) -> float:
    value = _required(fields, name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise CheckpointError(f"config.json: {name} is {value!r}, not a positive number")
    return float(value)


def _flag(fields: Mapping[str, Any], name: str) -> bool:
    value = _required(fields, name)
    if not isinstance(value, bool):
        raise CheckpointError(f"config.json: {name} is {value!r}, not true or false")
    return value
