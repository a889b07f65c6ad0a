"""Next-token cross-entropy without keeping the logits: 4,096 numbers a token are too many to go over several times."""

import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx
from transformers import Qwen3_5ForCausalLM

from training.native import available, load

CHUNK = 1024  # tokens whose logits exist at once: 8 MiB in bfloat16, which stays in cache


def loss_and_gradient_(logits: Tensor, targets: Tensor) -> Tensor:
    """Losses [N] of logits [N, V] against targets [N]; the logits become the gradient of the losses' sum."""
    if available():
        load("cross_entropy")
        return torch.ops.training_cross_entropy.forward_backward_(logits, targets)
    log_odds = logits.float().log_softmax(-1)
    logits.copy_(log_odds.exp())
    logits[torch.arange(len(targets)), targets] -= 1
    return -log_odds.gather(1, targets[:, None]).squeeze(1)


class ChunkedCrossEntropy(torch.autograd.Function):
    """Mean cross-entropy of `hidden @ weight.T`, with the gradients computed chunk by chunk on the way forward."""

    @staticmethod
    def forward(ctx: FunctionCtx, hidden: Tensor, weight: Tensor, targets: Tensor) -> Tensor:
        """Loss in float32, of hidden [N, D] in bfloat16 or float32, weight [V, D] and targets [N]."""
        head = weight.to(hidden.dtype)
        losses, d_hidden, d_weight = [], torch.empty_like(hidden), torch.zeros_like(weight)
        for first in range(0, len(hidden), CHUNK):
            chunk = slice(first, first + CHUNK)
            d_logits = hidden[chunk] @ head.T
            losses.append(loss_and_gradient_(d_logits, targets[chunk]))
            torch.mm(d_logits, head, out=d_hidden[chunk])
            d_weight += d_logits.T @ hidden[chunk]
        ctx.save_for_backward(d_hidden, d_weight)
        return torch.cat(losses).mean()

    @staticmethod
    def backward(ctx: FunctionCtx, d_loss: Tensor) -> tuple[Tensor, Tensor, None]:
        """The kept gradients, scaled."""
        d_hidden, d_weight = ctx.saved_tensors  # type: ignore[attr-defined]
        scale = d_loss / len(d_hidden)
        return d_hidden * scale.to(d_hidden.dtype), d_weight * scale, None


def hidden_states(model: Qwen3_5ForCausalLM, inputs: Tensor) -> Tensor:
    """The final norm's output [B, T, D] in bfloat16, computed in bfloat16 autocast from an empty state."""
    with torch.autocast("cpu", torch.bfloat16):
        return model.model(input_ids=inputs, use_cache=False).last_hidden_state.bfloat16()


def next_token_loss(hidden: Tensor, weight: Tensor, targets: Tensor) -> Tensor:
    """Mean cross-entropy in nats a token of hidden [B, T, D] against targets [B, T]."""
    return ChunkedCrossEntropy.apply(hidden.flatten(0, 1), weight, targets.flatten())
