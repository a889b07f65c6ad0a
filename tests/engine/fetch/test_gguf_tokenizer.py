"""The tokenizer that a GGUF file carries."""

from __future__ import annotations

from pathlib import Path

import pytest
from transformers import AutoTokenizer

from engine.fetch.gguf_folder import complete_folder
from engine.fetch.gguf_tokenizer import build_tokenizer
from engine.model.gguf_file import GGUFFile
from engine.model.tokenizer import Tokenizer
from tests.engine.model.gguf_files import SPECIAL, random_llama, write_gguf

TEXTS = [
    "the theme in the inn",
    "  two  spaces\n\nand\ttabs  ",
    "I'll, don't, we've; they're",
    "naïve café 🙂 汉字",
    "<|im_start|>user\nhi<|im_end|>\n",
    "<|endoftext|>",
    "",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    gguf = write_gguf(tmp_path_factory.mktemp("gguf") / "tiny.gguf", random_llama())
    complete_folder(gguf, "a test")
    return gguf.parent


@pytest.mark.parametrize("text", TEXTS)
def test_ids_are_those_that_transformers_reads_out_of_the_same_file(folder: Path, tmp_path: Path, text: str):
    # A folder with nothing but the file: beside a tokenizer.json transformers would read that.
    (tmp_path / "tiny.gguf").symlink_to(folder / "tiny.gguf")
    theirs = AutoTokenizer.from_pretrained(tmp_path, gguf_file="tiny.gguf")
    ids = Tokenizer(folder).encode(text)
    assert ids == theirs.encode(text, add_special_tokens=False)
    assert ids == AutoTokenizer.from_pretrained(folder).encode(text, add_special_tokens=False)


def test_special_tokens_keep_their_ids_and_end_the_text(folder: Path):
    ours = Tokenizer(folder)
    assert ours.encode("".join(SPECIAL)) == [0, 1, 2]
    assert ours.eos_ids == {2}
    assert ours.token(2).text == "<|im_end|>"


def test_the_chat_template_comes_along(folder: Path):
    messages = [{"role": "user", "content": "Hi"}]
    written = AutoTokenizer.from_pretrained(folder).apply_chat_template(messages, tokenize=False)
    assert written == "<|im_start|>user\nHi<|im_end|>\n"
    template = Tokenizer(folder).chat_template
    assert template is not None
    assert template.render(messages) == written


def test_smollm_takes_every_digit_by_itself_and_what_stands_before_it_whole(tmp_path: Path):
    """`\\p{N}` first and words after it: a space does not go with the digit, nor is the second of two split off."""
    file = GGUFFile(write_gguf(tmp_path / "tiny.gguf", random_llama(), tokenizer__ggml__pre="smollm"))
    split = build_tokenizer(file).pre_tokenizer.pre_tokenize_str
    assert [piece for piece, _ in split("in 1999:  7½ thé")] == [
        "in", "Ġ", "1", "9", "9", "9", ":", "ĠĠ", "7", "Â½", "ĠthÃ©",
    ]  # fmt: skip
