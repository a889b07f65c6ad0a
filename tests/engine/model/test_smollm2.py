"""The real SmolLM2-135M, where an operator has fetched it: transformers reads the same GGUF file."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from engine.account.cost import PRESET_SHAPES
from engine.loop.model_folder import fetched
from engine.model.model import Model
from engine.model.tokenizer import Tokenizer
from tests.engine.model.conftest import load, poisoned
from tests.engine.model.passes import Walk

FOLDER = fetched() / "smollm2-135m"
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
QUESTION = "<|im_start|>user\nWhat is the capital of France?<|im_end|>\n<|im_start|>assistant\n"

pytestmark = pytest.mark.skipif(
    not (FOLDER / FILE).is_file(), reason="SmolLM2 is not in the cache folder: python -m engine fetch smollm2-135m"
)


@pytest.fixture(scope="module")
def ours() -> Model:
    return load(FOLDER)


def test_logits_and_thirty_greedy_tokens_are_those_of_transformers(ours: Model):
    """Logits lie some 8 apart; float32 sums in another order move them by a few ten-thousandths."""
    theirs = AutoModelForCausalLM.from_pretrained(FOLDER, gguf_file=FILE, dtype=torch.float32).eval()
    memory = poisoned(ours)
    ids = Tokenizer(FOLDER).encode(QUESTION + "The capital of France is Paris. It lies on the Seine.")
    with torch.inference_mode():
        expected = theirs(torch.tensor([ids])).logits[0]
    torch.testing.assert_close(Walk(ours, memory).feed(ids), expected, rtol=0, atol=2e-3)

    question = Tokenizer(FOLDER).encode(QUESTION)
    with torch.inference_mode():
        out = theirs.generate(torch.tensor([question]), max_new_tokens=30, do_sample=False, eos_token_id=None)
    answer = Walk(ours, memory).greedy(question, 30)
    assert answer == out[0, len(question) :].tolist()
    assert "Paris" in Tokenizer(FOLDER).decode(answer)


def test_ids_are_those_of_transformers_wherever_it_reads_the_pre_tokenizer_right(tmp_path: Path):
    """transformers takes "smollm" for "gpt-2": they differ in runs of spaces before digits, and in other numerals."""
    (tmp_path / FILE).symlink_to(FOLDER / FILE)
    theirs, ours = AutoTokenizer.from_pretrained(tmp_path, gguf_file=FILE), Tokenizer(FOLDER)
    texts = [
        QUESTION, "In 1999, 3.14 of 100 were there.", "  two  spaces\n\nand\ttabs  ", "naïve café 🙂 汉字",
        "def f(x):\n    return x ** 2  # a comment\n", "I'll, don't, we've; they're", "<|endoftext|><file_sep>", "",
    ]  # fmt: skip
    alphabet = "aAbBeE \n\t.,'!?-_()éñ汉🙂<|>"
    texts += ["".join(random.choices(alphabet, k=60)) for _ in range(100)]
    for text in texts:
        assert ours.encode(text) == theirs.encode(text, add_special_tokens=False), text
    assert ours.encode("  7") != theirs.encode("  7", add_special_tokens=False)


def test_the_shape_is_the_one_of_the_course(ours: Model):
    preset = PRESET_SHAPES["SmolLM2-135M"]
    for field in ("layer_types", "hidden_size", "intermediate_size", "vocab_size", "head_dim", "parameters",
                  "num_attention_heads", "num_key_value_heads", "tie_word_embeddings", "context_length"):  # fmt: skip
        assert getattr(ours.shape, field) == getattr(preset, field), field
