"""The model that is trained: transformers' own `Qwen3_5ForCausalLM` in a small shape.

The module and its weights are transformers' from the first step to the export, so the checkpoint is a valid one by
construction. `fast_layers.py` only swaps how they are computed.
"""

import math

import torch
from torch import nn
from transformers import Qwen3_5ForCausalLM, Qwen3_5TextConfig
from transformers.models.qwen3_5.modeling_qwen3_5 import Qwen3_5Attention, Qwen3_5GatedDeltaNet, Qwen3_5MLP

from training.tokenizer import VOCABULARY

CONTEXT = 2048
LAYERS = 8


def story_config() -> Qwen3_5TextConfig:
    """Eight layers, three Gated DeltaNet to one gated attention, 256 wide, tied head: 7.7 M parameters."""
    return Qwen3_5TextConfig(
        vocab_size=VOCABULARY,
        hidden_size=256,
        intermediate_size=704,
        num_hidden_layers=LAYERS,
        layer_types=(["linear_attention"] * 3 + ["full_attention"]) * (LAYERS // 4),
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=64,
        linear_num_key_heads=4,
        linear_num_value_heads=4,
        linear_key_head_dim=64,
        linear_value_head_dim=64,
        linear_conv_kernel_dim=4,
        hidden_act="silu",
        rms_norm_eps=1e-6,
        max_position_embeddings=CONTEXT,
        rope_parameters={"rope_type": "default", "rope_theta": 10_000.0, "partial_rotary_factor": 0.25},
        attention_bias=False,
        attention_dropout=0.0,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=0,
        pad_token_id=None,
    )


def new_model(seed: int) -> Qwen3_5ForCausalLM:
    """A model with fresh weights, the same for the same seed."""
    torch.manual_seed(seed)
    model = Qwen3_5ForCausalLM(story_config())
    for module in model.modules():
        if isinstance(module, Qwen3_5GatedDeltaNet):
            _initialise_memory(module)
            _scale(module.out_proj)
        elif isinstance(module, Qwen3_5Attention):
            _scale(module.o_proj)
        elif isinstance(module, Qwen3_5MLP):
            _scale(module.down_proj)
    return model


@torch.no_grad()
def _scale(output: nn.Linear) -> None:
    """Start what is added to the residual stream small, so that depth does not blow it up (GPT-2's scaling)."""
    output.weight.div_(math.sqrt(2 * LAYERS))


@torch.no_grad()
def _initialise_memory(mixer: Qwen3_5GatedDeltaNet) -> None:
    """Start the heads with memories of about ten to a thousand tokens, as Mamba 2 does.

    Transformers starts dt_bias at 1, which forgets nearly everything within a token: good enough for loading weights.
    """
    dt = torch.exp(torch.empty_like(mixer.dt_bias).uniform_(math.log(1e-3), math.log(1e-1)))
    mixer.dt_bias.copy_(dt + torch.log(-torch.expm1(-dt)))  # softplus(dt_bias) == dt
    nn.init.kaiming_uniform_(mixer.conv1d.weight, a=math.sqrt(5))
