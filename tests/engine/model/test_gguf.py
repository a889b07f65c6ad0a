"""GGUF files give the model that transformers reads out of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from gguf import GGMLQuantizationType
from gguf.quants import quantize
from transformers import AutoModelForCausalLM

from engine.fetch.gguf_folder import complete_folder
from engine.model.config import CheckpointError, ModelConfig
from engine.model.gguf_file import KNOWN_KINDS, GGUFFile
from engine.model.model import Model
from engine.model.weights import Checkpoint
from tests.engine.model.conftest import load, poisoned
from tests.engine.model.gguf_files import pieces, random_llama, write_gguf
from tests.engine.model.passes import Walk


def _folder(tmp_path: Path, kind: str = "F32", **changes: bool) -> Path:
    gguf = write_gguf(tmp_path / "tiny" / "tiny.gguf", random_llama(**changes), kind)
    complete_folder(gguf, "a test")
    return gguf.parent


def _logits(model: torch.nn.Module, ids: list[int]) -> torch.Tensor:
    with torch.inference_mode():
        return model(torch.tensor([ids])).logits[0]


@pytest.mark.parametrize("kind", KNOWN_KINDS)
def test_logits_are_those_that_transformers_computes_from_the_same_file(tmp_path: Path, kind: str):
    folder = _folder(tmp_path, kind)
    theirs = AutoModelForCausalLM.from_pretrained(folder, gguf_file="tiny.gguf", dtype=torch.float32).eval()
    ours = load(folder)
    ids = torch.randint(0, len(pieces()), (50,)).tolist()
    expected = _logits(theirs, ids)
    assert expected.std() > 0.3, "logits that are all alike would agree whatever is wrong"
    torch.testing.assert_close(Walk(ours, poisoned(ours)).feed(ids), expected, rtol=0, atol=1e-4)


@pytest.mark.parametrize("tied", [True, False])
def test_a_file_in_full_precision_is_the_model_that_was_written(tmp_path: Path, tied: bool):
    folder = _folder(tmp_path, tie_word_embeddings=tied)
    ours = load(folder)
    ids = torch.randint(0, len(pieces()), (50,)).tolist()
    expected = _logits(random_llama(tie_word_embeddings=tied), ids)
    torch.testing.assert_close(Walk(ours, poisoned(ours)).feed(ids), expected, rtol=0, atol=1e-4)
    assert ours.shape.tie_word_embeddings is tied


def test_the_blocks_of_a_weight_are_at_hand_in_the_order_of_its_rows(tmp_path: Path):
    """For whoever computes with them as they are."""
    weight = random_llama().model.layers[1].self_attn.q_proj.weight.detach().numpy()
    stored = Checkpoint(_folder(tmp_path, "Q4_1"), torch.bfloat16).stored("layers.1.self_attn.q_proj.weight")
    assert (stored.raw_name, stored.kind) == ("blk.1.attn_q.weight", "Q4_1")
    assert np.array_equal(stored.blocks, quantize(weight, GGMLQuantizationType.Q4_1))
    assert torch.allclose(stored.read(), torch.from_numpy(weight), atol=0.05)


def test_matrices_are_kept_in_bf16_and_the_card_says_how_they_were_stored(tmp_path: Path):
    folder = _folder(tmp_path, "Q8_0")
    shape = Model.load(folder).shape
    assert shape.weight_dtype == "bfloat16"
    assert shape.name == "tiny"
    card = (folder / "README.md").read_text()
    assert "15 as Q8_0, 5 as F32" in card
    assert "From: a test" in card


def test_the_config_says_what_was_meant_and_not_what_float32_made_of_it(tmp_path: Path):
    config = ModelConfig.load(_folder(tmp_path))
    assert (config.rms_norm_eps, config.rope_theta, config.head_dim) == (1e-5, 50_000.0, 16)
    assert config.eos_token_ids == (2,)


@pytest.mark.parametrize(
    ("metadata", "said"),
    [
        ({"llama__attention__head_count_kv": None}, "lacks llama.attention.head_count_kv"),
        ({"llama__rope__freq_base": None}, "lacks llama.rope.freq_base"),
        ({"architecture": "gemma3"}, "architecture is 'gemma3'"),
        ({"llama__rope__scaling__type": "yarn"}, "rope.scaling.type is 'yarn'"),
        ({"llama__rope__dimension_count": 8}, "8 of a head's 16 dimensions"),
        ({"tokenizer__ggml__model": "llama"}, "tokenizer is of the kind 'llama'"),
        ({"tokenizer__ggml__pre": "tekken"}, "pre-tokenizer is 'tekken'"),
        ({"tokenizer__ggml__add_bos_token": True}, "asks for add_bos_token"),
    ],
)
def test_what_is_missing_or_not_computed_here_is_named(tmp_path: Path, metadata: dict, said: str):
    gguf = write_gguf(tmp_path / "tiny.gguf", random_llama(), **metadata)
    with pytest.raises(CheckpointError, match=said):
        complete_folder(gguf, "a test")


def test_another_way_of_storing_weights_is_refused_by_name(tmp_path: Path):
    gguf = write_gguf(tmp_path / "tiny.gguf", random_llama(), "Q5_0")
    with pytest.raises(CheckpointError, match=r"is stored as Q5_0; read here are F32, F16, Q8_0, Q4_0, Q4_1"):
        complete_folder(gguf, "a test")


def test_a_weight_that_nobody_takes_is_named(tmp_path: Path):
    """Long-context Llamas scale their frequencies by one: passing over it would compute another model."""
    extra = np.ones(8, dtype=np.float32)
    gguf = write_gguf(
        tmp_path / "tiny.gguf", random_llama(), change=lambda writer: writer.add_tensor("rope_freqs.weight", extra)
    )
    complete_folder(gguf, "a test")
    with pytest.raises(CheckpointError, match=r"unknown weights.*rope_freqs\.weight"):
        Model.load(tmp_path)


@pytest.mark.parametrize("kept", [0, 3, 100, 5000, -1000])
def test_a_truncated_file_is_said_to_be_damaged(tmp_path: Path, kept: int):
    gguf = write_gguf(tmp_path / "tiny.gguf", random_llama())
    gguf.write_bytes(gguf.read_bytes()[:kept])
    with pytest.raises(CheckpointError, match=r"tiny\.gguf is damaged"):
        GGUFFile(gguf)


def test_two_files_in_a_folder_are_one_too_many(tmp_path: Path):
    folder = _folder(tmp_path)
    (folder / "other.gguf").write_bytes((folder / "tiny.gguf").read_bytes())
    with pytest.raises(CheckpointError, match="has 2 GGUF files"):
        Model.load(folder)
