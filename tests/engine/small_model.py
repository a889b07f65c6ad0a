"""A random model small enough for any test: the real architecture, four layers, one token a byte."""

from __future__ import annotations

import json
from pathlib import Path

N_VOCAB = 257


def write_small_model(folder: Path, context_length: int = 128) -> Path:
    """Write a `qwen3_5_text` folder with random bf16 weights and a byte tokenizer; returns the folder."""
    import torch
    from transformers import Qwen3_5ForCausalLM, Qwen3_5TextConfig

    config = Qwen3_5TextConfig(
        vocab_size=N_VOCAB, hidden_size=32, intermediate_size=48, num_hidden_layers=4,
        layer_types=["linear_attention", "linear_attention", "linear_attention", "full_attention"],
        num_attention_heads=2, num_key_value_heads=1, head_dim=16,
        linear_num_key_heads=2, linear_num_value_heads=4, linear_key_head_dim=16, linear_value_head_dim=8,
        linear_conv_kernel_dim=4, max_position_embeddings=context_length, tie_word_embeddings=True,
        rms_norm_eps=1e-6, eos_token_id=256, bos_token_id=None, pad_token_id=None, attention_bias=False,
        rope_parameters={"rope_type": "default", "rope_theta": 10_000.0, "partial_rotary_factor": 0.5},
    )  # fmt: skip
    torch.manual_seed(1)
    model = Qwen3_5ForCausalLM(config)
    for parameter in model.parameters():
        # Spread out, so that the odds are not all alike and every weight matters.
        parameter.data = torch.randn_like(parameter) * 0.3
    model.to(torch.bfloat16).save_pretrained(folder)
    (folder / "tokenizer.json").write_text(json.dumps(_byte_tokenizer()), encoding="utf-8")
    return folder


def _byte_tokenizer() -> dict:
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({character: i for i, character in enumerate(alphabet)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken("<|endoftext|>", special=True)])
    return json.loads(tokenizer.to_str())
