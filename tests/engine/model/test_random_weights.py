"""Random weights of a published shape: for timing, and labelled so."""

from __future__ import annotations

from collections import namedtuple

import msgspec
import pytest
import torch

from engine import Engine, Request, SamplingParams
from engine.account.cost import PRESET_SHAPES, total_parameters
from engine.account.record import ModelShape
from engine.loop.model_folder import ModelNotFound, random_shape
from engine.model.byte_tokens import ByteTokens
from engine.model.config import CheckpointError
from engine.model.random_weights import random_model
from tests.engine.model.passes import Walk

CUT = {"hidden_size": 64, "intermediate_size": 96, "vocab_size": 500, "context_length": 128, "weight_bytes": 0}


def cut(name: str, n_layers: int) -> ModelShape:
    """The shape with fewer and narrower layers."""
    shape = PRESET_SHAPES[name]
    return msgspec.structs.replace(shape, **CUT, layer_types=shape.layer_types[:n_layers])


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("Qwen3.5-0.8B", "Qwen3.5-9B", "SmolLM2-135M"):
        monkeypatch.setitem(PRESET_SHAPES, name, cut(name, 4))


@pytest.mark.parametrize("name", ["Qwen3.5-0.8B", "Qwen3.5-9B", "SmolLM2-135M"])
def test_the_model_has_the_shape_that_was_asked_for_and_computes_finite_logits(name: str):
    model = random_model(PRESET_SHAPES[name])
    for field in ModelShape.__struct_fields__:
        if hasattr(model.config, field):
            assert getattr(model.shape, field) == getattr(PRESET_SHAPES[name], field), field
    assert model.shape.parameters == total_parameters(PRESET_SHAPES[name])
    assert (model.shape.weight_dtype, model.shape.kv_dtype) == ("bfloat16", "bfloat16")
    logits = Walk(model, model.new_memory(n_slots=1, n_positions=128)).feed(list(range(100)))
    assert logits.isfinite().all()
    assert logits.std() > 0.1


def test_the_same_seed_gives_the_same_weights():
    one, same, other = (random_model(PRESET_SHAPES["SmolLM2-135M"], seed).embedding.data for seed in (0, 0, 1))
    assert torch.equal(one, same)
    assert not torch.equal(one, other)


def test_a_run_is_labelled_and_its_tokens_are_bytes_or_numbers():
    with Engine.load("random:smollm2-135m", threads=1) as engine:
        run = engine.run(Request("hé", SamplingParams(max_new_tokens=5)))
    assert run.header.model.name == "SmolLM2-135M, random weights"
    assert [token.id for token in run.header.prompt_tokens] == [0x68, 0xC3, 0xA9]
    assert len(run.emissions) == 5
    assert all(one.state_bytes_read == one.state_bytes_held == one.window_bytes_held == 0 for one in run.passes)


def test_an_id_that_is_no_byte_has_no_text_but_its_number():
    tokens = ByteTokens()
    assert tokens.decode([*tokens.encode("naïve"), 40_000]) == "naïve"
    assert (tokens.token(40_000).raw, tokens.token(40_000).text) == (b"", "[40000]")
    assert tokens.token(65).text == "A"


def test_a_shape_that_does_not_fit_into_free_memory_is_refused_by_its_bytes(monkeypatch: pytest.MonkeyPatch):
    shape = msgspec.structs.replace(PRESET_SHAPES["Qwen3.5-9B"], weight_bytes=17_907_589_120)
    monkeypatch.setattr("psutil.virtual_memory", lambda: namedtuple("Memory", "available")(6_200_000_000))
    with pytest.raises(CheckpointError, match=r"take 17\.9 GB in bf16, and 6\.2 GB of memory are free"):
        random_model(shape)


def test_only_published_shapes_are_known():
    assert random_shape("story") is None
    assert random_shape("random:Qwen3.5-0.8B") == PRESET_SHAPES["Qwen3.5-0.8B"]
    with pytest.raises(ModelNotFound, match=r"no shape 'gpt5'.*random:qwen3\.5-4b.*random:smollm2-135m"):
        random_shape("random:gpt5")
