"""The folder that ships: what everybody else builds on."""

from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer
from transformers import AutoTokenizer, Qwen3_5ForCausalLM

from training.sample import PROMPT
from training.state import TrainingState

STORY = Path(__file__).parents[2] / "models" / "story"


@pytest.fixture(scope="module")
def model():
    loaded, report = Qwen3_5ForCausalLM.from_pretrained(STORY, output_loading_info=True)
    assert not report["missing_keys"] and not report["unexpected_keys"] and not report["mismatched_keys"]
    return loaded.eval()


def test_transformers_loads_it_unchanged_with_a_tied_head_in_bfloat16(model):
    assert model.dtype is torch.bfloat16
    assert model.lm_head.weight.data_ptr() == model.model.embed_tokens.weight.data_ptr()
    assert 5e6 < sum(p.numel() for p in model.parameters()) < 15e6
    assert (STORY / "model.safetensors").stat().st_size < 40e6


def test_the_prompt_is_eight_tokens_and_both_tokenizers_agree():
    auto, plain = AutoTokenizer.from_pretrained(STORY), Tokenizer.from_file(str(STORY / "tokenizer.json"))
    assert len(auto(PROMPT)["input_ids"]) == 8
    foreign = "caf\u00e9 \u4f60\u597d \U0001f642"
    for text in [PROMPT, "", " two  spaces\n\nand lines", "It's 1995, isn't it?", foreign, "<|endoftext|>x"]:
        assert auto(text)["input_ids"] == plain.encode(text).ids
        assert auto.decode(auto(text)["input_ids"]) == text
    assert auto.eos_token_id == plain.token_to_id("<|endoftext|>") == 0


def test_it_expects_the_words_that_a_story_goes_on_with(model):
    tokenizer = AutoTokenizer.from_pretrained(STORY)
    inputs = tokenizer(PROMPT + " little", return_tensors="pt", return_token_type_ids=False)
    odds = model(**inputs).logits[0, -1].float().softmax(-1)
    assert odds[tokenizer(" girl")["input_ids"][0]] > 0.1
    assert odds[tokenizer(" boy")["input_ids"][0]] > 0.1


def test_it_reads_a_heros_name_back_that_it_met_once(model):
    tokenizer = AutoTokenizer.from_pretrained(STORY)
    story = "Once upon a time, there was a little girl named Sue. She loved to play outside. One day,"
    inputs = tokenizer(story, return_tensors="pt", return_token_type_ids=False)
    odds = model(**inputs).logits[0, -1].float().softmax(-1)
    names = {name: odds[tokenizer(f" {name}")["input_ids"][0]].item() for name in ("Sue", "Lily", "Tom", "Mia")}
    assert max(names, key=names.get) == "Sue"


def test_a_new_run_may_begin_with_its_weights(model):
    state = TrainingState.from_checkpoint(STORY, seed=0)
    assert state.step == 0
    for (name, a), b in zip(state.model.named_parameters(), model.parameters(), strict=True):
        assert torch.equal(a, b.float()), name
        assert torch.equal(state.average[name], a), name


def test_the_card_names_sources_licences_losses_and_twenty_samples():
    card = (STORY / "README.md").read_text()
    for licence in ("CDLA-Sharing-1.0", "MIT", "Apache-2.0", "public domain"):
        assert licence in card
    assert "Loss on held-out stories" in card
    assert card.count("\n**") == 20 and f". {PROMPT}"[2:] in card
