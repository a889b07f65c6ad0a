"""Transformers' Qwen3.5 layers computed faster on a CPU, with the same weights and the same results.

Projections of the same input become one product, since narrow products waste a matrix unit; the Gated DeltaNet mixer
runs in C++; and torch.compile fuses what is left.
"""

from types import MethodType

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import Qwen3_5ForCausalLM
from transformers.models.qwen3_5.modeling_qwen3_5 import (
    Qwen3_5Attention,
    Qwen3_5GatedDeltaNet,
    Qwen3_5MLP,
    apply_rotary_pos_emb,
)

from training.delta_rule import delta_mixer
from training.native import available


def project(x: Tensor, *layers: nn.Linear) -> tuple[Tensor, ...]:
    """Several bias-free linear layers of the same input, as one product."""
    weight = torch.cat([layer.weight for layer in layers])
    return F.linear(x, weight).split([layer.out_features for layer in layers], dim=-1)


def fast_mixer(self: Qwen3_5GatedDeltaNet, hidden_states: Tensor, **ignored: object) -> Tensor:
    """`Qwen3_5GatedDeltaNet.forward` from an empty state. hidden_states: [B, T, D]."""
    batch, tokens, _ = hidden_states.shape
    mixed, z, b, a = project(hidden_states, self.in_proj_qkv, self.in_proj_z, self.in_proj_b, self.in_proj_a)
    g = -self.A_log.float().exp() * F.softplus(a.float() + self.dt_bias)
    out = delta_mixer(mixed, self.conv1d.weight.squeeze(1), g, b.float().sigmoid())
    normed = self.norm(out, z.reshape(batch, tokens, -1, self.head_v_dim))
    return self.out_proj(normed.view(batch, tokens, -1))


def fast_attention(
    self: Qwen3_5Attention, hidden_states: Tensor, position_embeddings: tuple[Tensor, Tensor], **ignored: object
) -> tuple[Tensor, None]:
    """`Qwen3_5Attention.forward` over whole rows without padding. hidden_states: [B, T, D]."""
    batch, tokens, _ = hidden_states.shape
    q_gate, k, v = project(hidden_states, self.q_proj, self.k_proj, self.v_proj)
    q, gate = q_gate.view(batch, tokens, -1, 2 * self.head_dim).chunk(2, dim=-1)
    k, v = (x.view(batch, tokens, -1, self.head_dim) for x in (k, v))
    q, k = apply_rotary_pos_emb(self.q_norm(q).transpose(1, 2), self.k_norm(k).transpose(1, 2), *position_embeddings)
    out = F.scaled_dot_product_attention(q, k, v.transpose(1, 2), is_causal=True, enable_gqa=True)
    return self.o_proj((out.transpose(1, 2) * gate.sigmoid()).reshape(batch, tokens, -1)), None


def fast_mlp(self: Qwen3_5MLP, x: Tensor) -> Tensor:
    """`Qwen3_5MLP.forward`. x: [B, T, D]."""
    gate, up = project(x, self.gate_proj, self.up_proj)
    return self.down_proj(F.silu(gate) * up)


def speed_up(model: Qwen3_5ForCausalLM, compile_layers: bool) -> None:
    """Swap the forward functions of this model's layers, and compile each layer around them if asked to.

    Without a C++ compiler nothing is changed, and training runs on transformers' own code, several times slower.
    """
    if not available():
        return
    for layer in model.model.layers:
        if layer.block_type == "linear_attention":
            layer.linear_attn.forward = MethodType(fast_mixer, layer.linear_attn)
        else:
            layer.self_attn.forward = MethodType(fast_attention, layer.self_attn)
        layer.mlp.forward = MethodType(fast_mlp, layer.mlp)
        if compile_layers:
            layer.compile(dynamic=False)
