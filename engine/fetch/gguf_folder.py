"""A model folder around a GGUF file: config and tokenizer written out of its metadata, the weights left as they are."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from engine.fetch.gguf_tokenizer import write_tokenizer
from engine.model.config import CheckpointError
from engine.model.gguf_file import GGUFFile


def complete_folder(gguf: Path, origin: str) -> None:
    """Write what a model folder needs beside the GGUF file in it; `origin` is for the card. Raises CheckpointError."""
    file = GGUFFile(gguf)
    folder = gguf.parent
    config = config_of(file)
    ends = {"bos_token_id": config["bos_token_id"], "eos_token_id": config["eos_token_id"]}
    for name, fields in (("config.json", config), ("generation_config.json", ends)):
        (folder / name).write_text(json.dumps(fields, indent=2) + "\n", encoding="utf-8")
    write_tokenizer(file, folder)
    (folder / "README.md").write_text(_card(file, origin), encoding="utf-8")


def config_of(file: GGUFFile) -> dict[str, Any]:
    """The fields of a Llama `config.json`; raises CheckpointError for what is missing or not computed here."""
    if (scaling := file.get("llama.rope.scaling.type", "none")) != "none":
        raise CheckpointError(
            f"{file.path}: rope.scaling.type is {scaling!r}; only plain rotary positions are computed"
        )
    weights = file.weights()
    hidden, heads = file.field("llama.embedding_length"), file.field("llama.attention.head_count")
    head_dim = file.get("llama.attention.key_length", hidden // heads)
    if (rotated := file.get("llama.rope.dimension_count", head_dim)) != head_dim:
        raise CheckpointError(f"{file.path}: {rotated} of a head's {head_dim} dimensions are rotated; computed are all")
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": len(weights["embed_tokens.weight"].blocks),
        "hidden_size": hidden,
        "intermediate_size": file.field("llama.feed_forward_length"),
        "num_hidden_layers": file.field("llama.block_count"),
        "num_attention_heads": heads,
        "num_key_value_heads": file.field("llama.attention.head_count_kv"),
        "head_dim": head_dim,
        "hidden_act": "silu",
        "rms_norm_eps": _decimal(file.field("llama.attention.layer_norm_rms_epsilon")),
        "rope_parameters": {"rope_type": "default", "rope_theta": _decimal(file.field("llama.rope.freq_base"))},
        "max_position_embeddings": file.field("llama.context_length"),
        "tie_word_embeddings": "lm_head.weight" not in weights,
        "bos_token_id": file.get("tokenizer.ggml.bos_token_id"),
        "eos_token_id": file.field("tokenizer.ggml.eos_token_id"),
        "attention_bias": False,
        "mlp_bias": False,
    }


def _decimal(single: float) -> float:
    """The number that was meant by a float32: 1e-05, not 9.999999747378752e-06."""
    return float(str(np.float32(single)))


def _card(file: GGUFFile, origin: str) -> str:
    kinds = Counter(weight.kind for weight in file.weights().values())
    stored = ", ".join(f"{n} as {kind}" for kind, n in kinds.most_common())
    return (
        f"# {file.get('general.name', file.path.stem)}\n\n"
        f"- From: {origin}\n"
        f"- Licence: {file.get('general.license', 'not stated in the file')}\n"
        f"- File: `{file.path.name}`, {file.path.stat().st_size:,} bytes\n"
        f"- Weights as stored: {stored}. They are widened when the model is loaded.\n"
        "- `config.json` and the tokenizer's files are written out of the file's metadata.\n"
    )
