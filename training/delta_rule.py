"""The token mixer of Gated DeltaNet for training: `delta_rule.cpp`, made known to autograd and `torch.compile`.

Transformers' chunked rule spends more than a third of a training step on a CPU in its triangular solve, and the
convolution before it another part in strided reads. This one walks over the tokens of each head in C++ instead.
"""

import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx

from training.native import load

HEAD = 64  # size of a key and of a value: kDim in C++
KEPT_EVERY = 32  # tokens between two kept states: kBlock in C++


@torch.library.custom_op("training::delta_mixer", mutates_args=())
def delta_mixer_op(mixed: Tensor, weight: Tensor, g: Tensor, beta: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Outputs [B, T, H, 64]; states [B * H, ceil(T / 32), 64, 64] and errors [B, T, H, 64], kept for the gradient."""
    load("delta_rule")
    out, kept, errors = torch.ops.training_delta_rule.forward(mixed, weight, g, beta)
    return out, kept, errors


@delta_mixer_op.register_fake
def _(mixed: Tensor, weight: Tensor, g: Tensor, beta: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    batch, tokens, heads = g.shape
    blocks = (tokens + KEPT_EVERY - 1) // KEPT_EVERY
    kept = g.new_empty(batch * heads, blocks, HEAD, HEAD)
    return mixed.new_empty(batch, tokens, heads, HEAD), kept, g.new_empty(batch, tokens, heads, HEAD)


@torch.library.custom_op("training::delta_mixer_backward", mutates_args=())
def delta_mixer_backward_op(
    d_out: Tensor, mixed: Tensor, weight: Tensor, g: Tensor, beta: Tensor, kept: Tensor, errors: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Gradients of mixed, weight, g and beta."""
    load("delta_rule")
    d_mixed, d_taps, d_g, d_beta = torch.ops.training_delta_rule.backward(d_out, mixed, weight, g, beta, kept, errors)
    d_weight = d_taps.sum(0).permute(1, 0, 3, 2).reshape(weight.shape)  # [H, part, tap, 64] -> [part H 64, tap]
    return d_mixed, d_weight, d_g, d_beta


@delta_mixer_backward_op.register_fake
def _(
    d_out: Tensor, mixed: Tensor, weight: Tensor, g: Tensor, beta: Tensor, kept: Tensor, errors: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    return mixed.new_empty(mixed.shape), torch.empty_like(weight), torch.empty_like(g), torch.empty_like(beta)


def _keep_for_backward(ctx: FunctionCtx, inputs: tuple, output: tuple) -> None:
    ctx.save_for_backward(*inputs, *output[1:])


def _backward(ctx: FunctionCtx, d_out: Tensor, *_: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    return delta_mixer_backward_op(d_out.contiguous(), *ctx.saved_tensors)  # type: ignore[attr-defined]


delta_mixer_op.register_autograd(_backward, setup_context=_keep_for_backward)


def delta_mixer(mixed: Tensor, weight: Tensor, g: Tensor, beta: Tensor) -> Tensor:
    """Causal convolution, SiLU, unit length of queries and keys, then the gated delta rule from an empty state.

    (Gated Delta Networks, arXiv 2412.06464, equation 10 and section 3.4.)

    Args:
        mixed: queries, keys and values of all heads side by side [B, T, 3 H 64], bfloat16 or float32; it may be the
            first columns of a wider tensor.
        weight: the depthwise convolution's weights [3 H 64, 4].
        g: log of the decay [B, T, H], at most 0.
        beta: write strength [B, T, H], between 0 and 1.

    Returns:
        Outputs [B, T, H, 64] in the type of `mixed`; the state is kept in float32 inside.
    """
    weight, g, beta = (x.float().contiguous() for x in (weight, g, beta))
    return delta_mixer_op(mixed, weight, g, beta)[0]
