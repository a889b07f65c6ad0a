"""Token ids and token bytes of a byte-level tokenizer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, models, pre_tokenizers
from tokenizers import Tokenizer as FastTokenizer
from tokenizers import decoders as token_decoders

from engine.model.config import CheckpointError
from engine.model.tokenizer import Tokenizer, piece_bytes
from tests.engine.model.conftest import ROOT


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """256 bytes, one merge, one special token, and an end of text that the generation config decides."""
    folder = tmp_path_factory.mktemp("tokenizer")
    vocabulary = {character: i for i, character in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    fast = FastTokenizer(models.BPE({**vocabulary, "he": 256}, merges=[("h", "e")]))
    fast.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    fast.decoder = token_decoders.ByteLevel()
    fast.add_special_tokens([AddedToken("<|endoftext|>", special=True)])
    fast.save(str(folder / "tokenizer.json"))
    (folder / "config.json").write_text(json.dumps({"eos_token_id": 3}))
    (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": [257, 5]}))
    return folder


@settings(max_examples=100, deadline=None)
@given(text=st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_comes_back_from_the_bytes_of_its_tokens(folder: Path, text: str):
    tokenizer = _loaded(folder)
    ids = tokenizer.encode(text)
    assert b"".join(tokenizer.token(i).raw for i in ids) == text.encode()
    assert tokenizer.decode(ids) == text


_kept: dict[Path, Tokenizer] = {}


def _loaded(folder: Path) -> Tokenizer:
    return _kept.setdefault(folder, Tokenizer(folder))


def test_every_byte_has_its_own_token_and_half_a_character_is_shown_as_unknown(folder: Path):
    tokenizer = Tokenizer(folder)
    assert sorted(tokenizer.token(i).raw for i in range(256)) == [bytes([b]) for b in range(256)]
    emoji = tokenizer.encode("🙂")
    assert len(emoji) == 4
    assert tokenizer.token(emoji[0]).text == "\N{REPLACEMENT CHARACTER}"
    assert tokenizer.token(256).raw == b"he"


def test_a_space_is_a_byte_and_not_a_mark(folder: Path):
    assert piece_bytes("Ġlittle") == b" little"
    assert piece_bytes("Ċ") == b"\n"


def test_ids_beyond_the_vocabulary_and_special_tokens_have_sensible_bytes(folder: Path):
    tokenizer = Tokenizer(folder)
    assert tokenizer.token(257).raw == b"<|endoftext|>"
    assert tokenizer.token(5000).raw == b""


def test_the_generation_config_decides_what_ends_a_text(folder: Path, tmp_path: Path):
    assert Tokenizer(folder).eos_ids == {257, 5}
    (tmp_path / "tokenizer.json").write_bytes((folder / "tokenizer.json").read_bytes())
    (tmp_path / "config.json").write_text(json.dumps({"text_config": {"eos_token_id": 9}}))
    assert Tokenizer(tmp_path).eos_ids == {9}


@pytest.mark.parametrize("content", [None, "{", '{"version": "1.0"}'])
def test_a_missing_or_damaged_file_is_named(tmp_path: Path, content: str | None):
    if content is not None:
        (tmp_path / "tokenizer.json").write_text(content)
    with pytest.raises(CheckpointError, match=r"tokenizer\.json"):
        Tokenizer(tmp_path)


def test_a_tokenizer_of_another_kind_is_refused(folder: Path, tmp_path: Path):
    fields = json.loads((folder / "tokenizer.json").read_text())
    (tmp_path / "tokenizer.json").write_text(json.dumps({**fields, "decoder": {"type": "ByteFallback"}}))
    with pytest.raises(CheckpointError, match="byte-level"):
        Tokenizer(tmp_path)


@pytest.mark.skipif(not (ROOT / "models/story/tokenizer.json").exists(), reason="the story model is not in the tree")
def test_the_story_tokenizer_gives_the_ids_of_transformers():
    from transformers import AutoTokenizer

    folder = ROOT / "models" / "story"
    ours, theirs = Tokenizer(folder), AutoTokenizer.from_pretrained(folder)
    for text in (
        "Once upon a time, there was a",
        "  two  spaces\n\nand 42 lines…",
        "naïve café 🙂",
        "<|endoftext|>x",
        "",
    ):
        assert ours.encode(text) == theirs.encode(text)
    assert len(ours.encode("Once upon a time, there was a")) == 8
