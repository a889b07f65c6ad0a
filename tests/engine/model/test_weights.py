"""Weights: each used once, none left out, none guessed; and a damaged file is said to be one."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import Qwen3_5ForCausalLM

from engine.model.config import CheckpointError
from engine.model.model import Model
from tests.engine.model.conftest import load, poisoned
from tests.engine.model.passes import Walk

Weights = dict[str, torch.Tensor]
IDS = [3, 1, 4, 1, 5, 9, 2, 6]


@pytest.fixture
def folder(oracle: Callable[[str], tuple[Path, Qwen3_5ForCausalLM]], tmp_path: Path) -> Path:
    """A copy of a good checkpoint, to be spoilt."""
    return shutil.copytree(oracle("family")[0], tmp_path / "copy")


def _change(folder: Path, change: Callable[[Weights], object]) -> None:
    weights = load_file(folder / "model.safetensors")
    change(weights)
    save_file(weights, folder / "model.safetensors")


def _logits(folder: Path) -> torch.Tensor:
    model = load(folder)
    return Walk(model, poisoned(model)).feed(IDS)


def test_a_multimodal_checkpoint_gives_the_same_model(folder: Path):
    expected = _logits(folder)
    config = json.loads((folder / "config.json").read_text())
    whole = {"model_type": "qwen3_5", "text_config": config, "tie_word_embeddings": True, "vision_config": {}}
    (folder / "config.json").write_text(json.dumps(whole))

    def into_multimodal(weights: Weights) -> None:
        for name in list(weights):
            weights[name.replace("model.", "model.language_model.", 1)] = weights.pop(name)
        weights["model.visual.blocks.0.attn.qkv.weight"] = torch.ones(3)
        weights["mtp.fc.weight"] = torch.ones(3)
        weights["mtp.layers.0.input_layernorm.weight"] = torch.ones(3)

    _change(folder, into_multimodal)
    assert torch.equal(_logits(folder), expected)


def test_shards_give_the_same_model(folder: Path):
    expected = _logits(folder)
    weights = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    names = sorted(weights)
    shards = {"one.safetensors": names[: len(names) // 2], "two.safetensors": names[len(names) // 2 :]}
    for shard, held in shards.items():
        save_file({name: weights[name] for name in held}, folder / shard)
    index = {"weight_map": {name: shard for shard, held in shards.items() for name in held}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    assert torch.equal(_logits(folder), expected)
    (folder / "two.safetensors").unlink()
    with pytest.raises(CheckpointError, match=r"two\.safetensors is missing"):
        load(folder)


def test_a_missing_weight_is_named(folder: Path):
    _change(folder, lambda weights: weights.pop("model.layers.2.linear_attn.A_log"))
    with pytest.raises(CheckpointError, match=r"lacks the weight layers\.2\.linear_attn\.A_log"):
        load(folder)


def test_an_unknown_weight_is_named(folder: Path):
    _change(folder, lambda weights: weights.update({"model.layers.0.linear_attn.extra.weight": torch.ones(2)}))
    with pytest.raises(CheckpointError, match=r"unknown weights.*layers\.0\.linear_attn\.extra\.weight"):
        load(folder)


def test_a_wrong_shape_is_named_with_both_shapes(folder: Path):
    _change(folder, lambda weights: weights.update({"model.norm.weight": torch.ones(63)}))
    with pytest.raises(CheckpointError, match=r"model\.norm\.weight has the shape \[63\]; the config asks for \[64\]"):
        load(folder)


def test_quantized_weights_are_not_read_as_numbers(folder: Path):
    _change(folder, lambda weights: weights.update({"model.norm.weight": torch.ones(64, dtype=torch.int8)}))
    with pytest.raises(CheckpointError, match=r"model\.norm\.weight is stored as torch\.int8"):
        load(folder)


def test_two_names_for_one_weight_are_refused(folder: Path):
    _change(folder, lambda weights: weights.update({"model.language_model.norm.weight": torch.ones(64)}))
    with pytest.raises(CheckpointError, match=r"two weights for norm\.weight"):
        load(folder)


@pytest.mark.parametrize("kept", [0, 7, 300, 20_000, -1])
def test_a_truncated_file_is_said_to_be_damaged(folder: Path, kept: int):
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(CheckpointError, match=r"model\.safetensors is damaged"):
        load(folder)


def test_a_missing_file_is_named(folder: Path):
    (folder / "model.safetensors").unlink()
    with pytest.raises(CheckpointError, match=r"model\.safetensors is missing"):
        load(folder)


def test_a_tied_head_may_be_stored_if_it_is_the_embedding(folder: Path):
    expected = _logits(folder)
    _change(folder, lambda weights: weights.update({"lm_head.weight": weights["model.embed_tokens.weight"].clone()}))
    assert torch.equal(_logits(folder), expected)
    _change(folder, lambda weights: weights["lm_head.weight"].add_(1))
    with pytest.raises(CheckpointError, match="tie_word_embeddings"):
        load(folder)


def test_the_model_outlives_its_file(folder: Path):
    """A running engine must not change when its checkpoint is replaced or deleted under it."""
    model = load(folder)
    before = Walk(model, poisoned(model)).feed(IDS)
    path = folder / "model.safetensors"
    path.write_bytes(b"\0" * path.stat().st_size)
    assert torch.equal(Walk(model, poisoned(model)).feed(IDS), before)


def test_bytes_and_parameters_are_those_that_were_loaded(folder: Path, oracle: Callable):
    theirs = oracle("family")[1]
    n = sum(weight.numel() for weight in theirs.parameters())
    in_float, in_half = load(folder), Model.load(folder)
    assert in_float.shape.parameters == n
    assert in_float.shape.weight_bytes == 4 * n
    vectors = sum(w.numel() for name, w in theirs.named_parameters() if w.dim() == 1 or "conv1d" in name)
    assert in_half.shape.weight_bytes == 2 * n + 2 * vectors
    assert (in_half.shape.weight_dtype, in_half.shape.kv_dtype) == ("bfloat16", "bfloat16")
