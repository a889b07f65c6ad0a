"""Small GGUF files written by llama.cpp's own package, as its converter writes those of a Llama model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gguf import GGMLQuantizationType, GGUFWriter
from gguf.quants import quantize
from tokenizers import pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM

SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
MERGES = ["Ġ t", "h e", "Ġt he", "i n"]
TEMPLATE = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"

_NAMES = {
    "input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output", "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
}  # fmt: skip


def pieces() -> list[str]:
    """The vocabulary: special tokens, bytes, and what the merges make."""
    return [*SPECIAL, *sorted(pre_tokenizers.ByteLevel.alphabet()), *(merge.replace(" ", "") for merge in MERGES)]


def random_llama(**changes: Any) -> LlamaForCausalLM:
    """Widths are whole blocks of 32; norm weights are away from 1."""
    fields: dict[str, Any] = {
        "vocab_size": len(pieces()), "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 256, "rms_norm_eps": 1e-5,
        "tie_word_embeddings": True, "rope_parameters": {"rope_type": "default", "rope_theta": 50_000.0},
    }  # fmt: skip
    torch.manual_seed(5)
    model = LlamaForCausalLM(LlamaConfig(**{**fields, **changes})).eval()
    for weight in model.parameters():
        noise = torch.randn_like(weight)
        weight.data = 1 + 0.3 * noise if weight.dim() == 1 else noise / weight.shape[1] ** 0.5
    return model


def write_gguf(
    path: Path, model: LlamaForCausalLM, kind: str = "F32", change: Callable[[GGUFWriter], object] | None = None,
    **metadata: Any,
) -> Path:  # fmt: skip
    """Matrices are stored as `kind`, norms in F32. A metadata value of None is left out; `change` may add more."""
    path.parent.mkdir(parents=True, exist_ok=True)
    writer = GGUFWriter(path, metadata.pop("architecture", "llama"))
    for name, value in {**_metadata(model.config), **metadata}.items():
        if value is not None:
            _add(writer, name.replace("__", "."), value)
    for name, weight in model.state_dict().items():
        if name != "lm_head.weight" or not model.config.tie_word_embeddings:
            _add_weight(writer, name, weight.numpy(), kind if weight.dim() == 2 else "F32", model.config)
    if change:
        change(writer)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _metadata(config: LlamaConfig) -> dict[str, Any]:
    return {
        "general__name": "Tiny", "llama__block_count": config.num_hidden_layers,
        "llama__context_length": config.max_position_embeddings, "llama__embedding_length": config.hidden_size,
        "llama__feed_forward_length": config.intermediate_size,
        "llama__attention__head_count": config.num_attention_heads,
        "llama__attention__head_count_kv": config.num_key_value_heads,
        "llama__rope__freq_base": config.rope_parameters["rope_theta"],
        "llama__attention__layer_norm_rms_epsilon": config.rms_norm_eps,
        "llama__rope__dimension_count": config.head_dim, "llama__vocab_size": config.vocab_size,
        "tokenizer__ggml__model": "gpt2", "tokenizer__ggml__pre": "gpt-2", "tokenizer__ggml__tokens": pieces(),
        "tokenizer__ggml__token_type": [3] * len(SPECIAL) + [1] * (len(pieces()) - len(SPECIAL)),
        "tokenizer__ggml__merges": MERGES, "tokenizer__ggml__bos_token_id": 1, "tokenizer__ggml__eos_token_id": 2,
        "tokenizer__ggml__padding_token_id": 2, "tokenizer__chat_template": TEMPLATE,
    }  # fmt: skip


def _add(writer: GGUFWriter, name: str, value: Any) -> None:
    adders = {
        bool: writer.add_bool, int: writer.add_uint32, float: writer.add_float32, str: writer.add_string,
        list: writer.add_array,
    }  # fmt: skip
    if name != "general.architecture":
        adders[type(value)](name, value)


def _add_weight(writer: GGUFWriter, name: str, weight: np.ndarray, kind: str, config: LlamaConfig) -> None:
    heads = {"q_proj": config.num_attention_heads, "k_proj": config.num_key_value_heads}.get(name.split(".")[-2])
    if heads:
        # The converter's order: a head's halves, row by row beside each other.
        halves = weight.reshape(heads, 2, len(weight) // heads // 2, -1)
        weight = np.ascontiguousarray(halves.swapaxes(1, 2).reshape(weight.shape))
    wanted = GGMLQuantizationType[kind]
    writer.add_tensor(_gguf_name(name), quantize(weight, wanted), raw_dtype=wanted)


def _gguf_name(name: str) -> str:
    outer = {"model.embed_tokens.weight": "token_embd", "model.norm.weight": "output_norm", "lm_head.weight": "output"}
    if name in outer:
        return f"{outer[name]}.weight"
    _, _, number, part = name.removesuffix(".weight").split(".", 3)
    return f"blk.{number}.{_NAMES[part]}.weight"
