"""The tokenizer that a GGUF file carries in its metadata, as the files of a model folder.

Known are byte-level BPE tokenizers ("gpt2") with the pre-tokenizers below; llama.cpp names them by the model family
that first used them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from engine.model.config import CheckpointError
from engine.model.gguf_file import GGUFFile

CONTROL, USER_DEFINED = 3, 4
"""Values of `tokenizer.ggml.token_type`: tokens that are never made by merging."""


def write_tokenizer(file: GGUFFile, folder: Path) -> None:
    """Write `tokenizer.json` and `tokenizer_config.json`; raises CheckpointError for a tokenizer of another kind."""
    tokenizer = build_tokenizer(file)
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps(_config(file), indent=2) + "\n", encoding="utf-8")


def build_tokenizer(file: GGUFFile) -> Tokenizer:
    """The tokenizer itself; raises CheckpointError for one of another kind."""
    _refuse_others(file)
    pieces: list[str] = file.field("tokenizer.ggml.tokens")
    merges = [tuple(merge.split(" ")) for merge in file.field("tokenizer.ggml.merges")]
    tokenizer = Tokenizer(models.BPE({piece: i for i, piece in enumerate(pieces)}, merges))
    tokenizer.pre_tokenizer = _pre_tokenizer(file)
    tokenizer.decoder = decoders.ByteLevel()
    kinds = file.field("tokenizer.ggml.token_type")
    # In the order of their ids, all at once: the library finds them in the vocabulary and keeps those.
    tokenizer.add_tokens(
        [
            AddedToken(piece, special=kind == CONTROL, normalized=False)
            for piece, kind in zip(pieces, kinds, strict=True)
            if kind in (CONTROL, USER_DEFINED)
        ]
    )
    return tokenizer


def _refuse_others(file: GGUFFile) -> None:
    if (kind := file.field("tokenizer.ggml.model")) != "gpt2":
        raise CheckpointError(
            f"{file.path}: its tokenizer is of the kind {kind!r}; only byte-level BPE ('gpt2') is read"
        )
    for name in ("add_bos_token", "add_eos_token", "add_space_prefix"):
        if file.get(f"tokenizer.ggml.{name}", default=False):
            raise CheckpointError(f"{file.path}: its tokenizer asks for {name}, and here nothing is put around a text")


def _pre_tokenizer(file: GGUFFile) -> pre_tokenizers.PreTokenizer:
    words = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    known = {
        "gpt-2": words,
        # Every digit by itself.
        "smollm": pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), words]),
    }
    name = file.field("tokenizer.ggml.pre")
    if name not in known:
        raise CheckpointError(f"{file.path}: its pre-tokenizer is {name!r}; known are {', '.join(map(repr, known))}")
    return known[name]


def _config(file: GGUFFile) -> dict[str, Any]:
    """What transformers and the chat template need to know besides."""
    pieces = file.field("tokenizer.ggml.tokens")
    names = {"bos_token": "bos", "eos_token": "eos", "unk_token": "unknown", "pad_token": "padding"}
    ids = {field: file.get(f"tokenizer.ggml.{name}_token_id") for field, name in names.items()}
    config: dict[str, Any] = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "clean_up_tokenization_spaces": False,
        "model_max_length": file.field("llama.context_length"),
        **{field: pieces[i] for field, i in ids.items() if i is not None},
    }
    if template := file.get("tokenizer.chat_template"):
        config["chat_template"] = template
    return config
