"""Llama: uniform full attention, without gates, head norms or a recurrent state. transformers is the oracle."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from engine.account import cost
from engine.model.config import CheckpointError, ModelConfig
from engine.model.model import Model
from engine.model.recorded_step import RecordedSteps
from kernels import dispatch
from tests.engine.model.conftest import load, poisoned
from tests.engine.model.passes import Walk

VARIANTS: dict[str, dict[str, Any]] = {
    "three heads a key head, tied": {},
    "untied, one head each": {"tie_word_embeddings": False, "num_key_value_heads": 6, "head_dim": 20},
}


def llama_config(**changes: Any) -> LlamaConfig:
    fields: dict[str, Any] = {
        "vocab_size": 300, "hidden_size": 96, "intermediate_size": 128, "num_hidden_layers": 3,
        "num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 16, "max_position_embeddings": 512,
        "rms_norm_eps": 1e-5, "tie_word_embeddings": True, "eos_token_id": 299, "bos_token_id": 298,
        "rope_parameters": {"rope_type": "default", "rope_theta": 50_000.0},
    }  # fmt: skip
    return LlamaConfig(**{**fields, **changes})


@pytest.fixture(scope="module", params=VARIANTS)
def oracle(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, LlamaForCausalLM]:
    """A random model with norm weights away from 1, and its folder."""
    torch.manual_seed(3)
    model = LlamaForCausalLM(llama_config(**VARIANTS[request.param])).eval()
    for weight in model.parameters():
        weight.data = (
            1 + 0.3 * torch.randn_like(weight)
            if weight.dim() == 1
            else torch.randn_like(weight) / weight.shape[1] ** 0.5
        )
    folder = tmp_path_factory.mktemp("llama") / "random"
    model.save_pretrained(folder)
    return folder, model


def _expected(model: LlamaForCausalLM, ids: list[int]) -> torch.Tensor:
    with torch.inference_mode():
        return model(torch.tensor([ids])).logits[0]


def test_logits_are_those_of_transformers_in_one_pass_in_chunks_and_token_by_token(
    oracle: tuple[Path, LlamaForCausalLM], implementation: str
):
    folder, theirs = oracle
    ours = load(folder)
    memory = poisoned(ours)
    ids = torch.randint(0, 300, (90,)).tolist()
    expected = _expected(theirs, ids)
    assert expected.std() > 0.3, "logits that are all alike would agree whatever is wrong"
    for sizes in ([90], [64, 26], [17, 1, 33], [1]):
        walk = Walk(ours, memory)
        pieces, at = [], 0
        while at < len(ids):
            size = sizes[len(pieces) % len(sizes)]
            pieces.append(walk.feed(ids[at : at + size], "prefill" if at == 0 else "decode"))
            at += size
        torch.testing.assert_close(torch.cat(pieces), expected, rtol=0, atol=1e-4)
        walk.close()
        memory.poison_free()
        memory.check_integrity()


def test_the_specification_agrees_too(oracle: tuple[Path, LlamaForCausalLM]):
    folder, theirs = oracle
    ours = load(folder)
    ids = torch.randint(0, 300, (12,)).tolist()
    with dispatch.override_all("reference"):
        logits = Walk(ours, poisoned(ours)).feed(ids)
    torch.testing.assert_close(logits, _expected(theirs, ids), rtol=0, atol=1e-4)


def test_decode_steps_are_replayed_and_give_the_tokens_of_transformers(
    oracle: tuple[Path, LlamaForCausalLM], monkeypatch: pytest.MonkeyPatch
):
    folder, theirs = oracle
    ids = torch.randint(0, 300, (9,)).tolist()
    with torch.inference_mode():
        expected = theirs.generate(torch.tensor([ids]), max_new_tokens=40, do_sample=False, eos_token_id=None)
    replayed: list[int] = []
    run = RecordedSteps.run
    monkeypatch.setattr(RecordedSteps, "run", lambda self, *rest: (replayed.append(1), run(self, *rest))[1])
    with dispatch.override_all("native"):
        ours = load(folder)
        assert Walk(ours, poisoned(ours)).greedy(ids, 40) == expected[0, 9:].tolist()
    assert len(replayed) == 41, "the prompt's step is small enough, too"


def test_the_shape_holds_no_state_and_counts_what_was_loaded(oracle: tuple[Path, LlamaForCausalLM]):
    folder, theirs = oracle
    model = Model.load(folder)
    shape = model.shape
    assert shape.parameters == sum(weight.numel() for weight in theirs.parameters()) == cost.total_parameters(shape)
    assert shape.architecture == "LlamaForCausalLM"
    assert not shape.attn_output_gate
    assert (shape.linear_num_value_heads, shape.linear_conv_kernel_dim) == (0, 0)
    memory = model.new_memory(n_slots=2, n_positions=64)
    assert cost.recurrent_state_bytes(shape) == memory.slots.state_bytes == 0
    assert cost.window_bytes(shape) == memory.slots.window_bytes == 0
    assert cost.crossover_positions(shape) is None
    assert cost.kv_bytes_per_position(shape) == memory.pages.bytes_per_position


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("mlp_bias", True),
        ("attention_bias", True),
        ("hidden_act", "gelu"),
        ("rope_scaling", {"rope_type": "llama3", "factor": 8.0}),
        ("rope_parameters", {"rope_type": "llama3", "rope_theta": 1e4}),
        ("num_key_value_heads", 4),
        ("rms_norm_eps", None),
    ],
)
def test_what_is_not_computed_is_refused_by_name(field: str, value: Any):
    name = "rope_type" if field == "rope_parameters" else field
    with pytest.raises(CheckpointError, match=name):
        ModelConfig.from_dict({**llama_config().to_dict(), field: value})


def test_older_files_leave_the_head_size_to_the_width():
    raw = llama_config().to_dict()
    del raw["head_dim"]
    rope = raw.pop("rope_parameters")
    config = ModelConfig.from_dict({**raw, "rope_theta": rope["rope_theta"], "rope_scaling": None})
    assert (config.head_dim, config.rotary_dim, config.rope_theta) == (16, 16, 50_000.0)
    assert config.linear_layers == ()
