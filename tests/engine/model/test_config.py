"""A configuration is read field by field, and whatever we would compute wrongly is refused by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engine.model.config import CheckpointError, ModelConfig
from tests.engine.model.checkpoints import text_config


@pytest.fixture
def raw() -> dict[str, Any]:
    return text_config().to_dict()


def test_the_fields_of_a_text_model_are_read(raw: dict[str, Any]):
    config = ModelConfig.from_dict(raw)
    assert config.hidden_size == 64
    assert config.full_layers == (3,)
    assert config.linear_layers == (0, 1, 2)
    assert config.rotary_dim == 8
    assert config.conv_channels == 2 * 2 * 32 + 4 * 16
    assert config.eos_token_ids == (299,)


def test_a_multimodal_config_has_the_text_model_inside(raw: dict[str, Any]):
    tied = raw.pop("tie_word_embeddings")
    whole = {"model_type": "qwen3_5", "architectures": ["Qwen3_5ForConditionalGeneration"], "text_config": raw}
    config = ModelConfig.from_dict({**whole, "tie_word_embeddings": tied, "vision_config": {"hidden_size": 9}})
    assert config.hidden_size == 64
    assert config.tie_word_embeddings
    assert config.architecture == "Qwen3_5ForConditionalGeneration"


def test_layer_types_follow_from_the_interval_where_they_are_not_listed(raw: dict[str, Any]):
    del raw["layer_types"]
    config = ModelConfig.from_dict({**raw, "num_hidden_layers": 8, "full_attention_interval": 4})
    assert config.full_layers == (3, 7)


def test_rotary_settings_of_older_files_stand_beside_the_others(raw: dict[str, Any]):
    rope = raw.pop("rope_parameters")
    config = ModelConfig.from_dict({**raw, "rope_theta": 5.0, "partial_rotary_factor": rope["partial_rotary_factor"]})
    assert config.rope_theta == 5.0


@pytest.mark.parametrize(
    "field",
    ["hidden_size", "linear_num_value_heads", "rms_norm_eps", "tie_word_embeddings", "num_hidden_layers", "head_dim"],
)
def test_a_missing_field_is_named_and_never_guessed(raw: dict[str, Any], field: str):
    del raw[field]
    with pytest.raises(CheckpointError, match=f"{field} is missing"):
        ModelConfig.from_dict(raw)


@pytest.mark.parametrize("field", ["rope_theta", "partial_rotary_factor"])
def test_a_missing_rotary_setting_is_named(raw: dict[str, Any], field: str):
    del raw["rope_parameters"][field]
    with pytest.raises(CheckpointError, match=f"{field} is missing"):
        ModelConfig.from_dict(raw)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("hidden_size", 0),
        ("hidden_size", "64"),
        ("vocab_size", True),
        ("rms_norm_eps", -1.0),
        ("rms_norm_eps", float("nan")),
        ("rms_norm_eps", float("inf")),
        ("tie_word_embeddings", "yes"),
        ("eos_token_id", "<|endoftext|>"),
        ("layer_types", ["linear_attention", "sliding_attention", "linear_attention", "full_attention"]),
        ("layer_types", ["full_attention"]),
        ("hidden_act", "gelu"),
        ("attention_bias", True),
        ("attn_output_gate", False),
        ("quantization_config", {"quant_method": "fp8"}),
        ("model_type", "qwen3_next"),
        ("num_key_value_heads", 3),
        ("linear_num_value_heads", 3),
    ],
)
def test_a_value_that_is_wrong_or_not_computed_here_is_refused_by_name(raw: dict[str, Any], field: str, value: Any):
    with pytest.raises(CheckpointError, match=field):
        ModelConfig.from_dict({**raw, field: value})


@pytest.mark.parametrize(
    ("setting", "value"), [("rope_type", "yarn"), ("partial_rotary_factor", 1.5), ("partial_rotary_factor", 0.01)]
)
def test_rotary_settings_that_are_not_computed_are_refused(raw: dict[str, Any], setting: str, value: Any):
    with pytest.raises(CheckpointError, match=setting):
        ModelConfig.from_dict({**raw, "rope_parameters": {**raw["rope_parameters"], setting: value}})


@pytest.mark.parametrize("content", [None, "", "{", "[]", b"\xff\xfe\x00"])
def test_a_file_that_is_no_json_object_is_named(tmp_path: Path, content: str | bytes | None):
    if content is not None:
        (tmp_path / "config.json").write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(CheckpointError, match=r"config\.json"):
        ModelConfig.load(tmp_path)


def test_the_record_gets_the_shape_of_the_model(raw: dict[str, Any]):
    shape = ModelConfig.from_dict(raw).shape(
        "tiny", parameters=12, weight_bytes=24, weight_dtype="bfloat16", kv_dtype="float32"
    )
    assert (shape.name, shape.parameters, shape.weight_bytes) == ("tiny", 12, 24)
    assert shape.layer_types == ["linear_attention"] * 3 + ["full_attention"]
    assert shape.context_length == 512
    assert (shape.kv_dtype, shape.state_dtype) == ("float32", "float32")
