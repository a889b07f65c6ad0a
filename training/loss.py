"""Next-token cross-entropy without keeping the logits: 4,096 numbers a token are too many to write and read several times."""

import torch
from torch import Tensor
from transformers import Qwen3_5ForCausalLM

CHUNK = 1024  # tokens whose logits exist at once: 16 MiB in float32, which stays in cache


class ChunkedCrossEntropy(torch.autograd.Function):
    """Mean cross-entropy of `hidden @ weight.T`, with the gradients computed chunk by chunk on the way forward."""

    @staticmethod
    def forward(ctx, hidden: Tensor, weight: Tensor, targets: Tensor) -> Tensor:
        """hidden [N, D] in bfloat16 or float32, weight [V, D], targets [N]; returns a scalar in float32."""
        head = weight.to(hidden.dtype)
        total = torch.zeros((), dtype=torch.float32)
        d_hidden, d_weight = torch.empty_like(hidden), torch.zeros_like(weight)
        for first in range(0, len(hidden), CHUNK):
            rows = slice(first, first + CHUNK)
            logits = (hidden[rows] @ head.T).float()
            target = targets[rows, None]
            log_sum = logits.logsumexp(-1, keepdim=True)
            total += (log_sum - logits.gather(1, target)).sum()
            odds = logits.sub_(log_sum).exp_()
            odds.scatter_add_(1, target, torch.full_like(log_sum, -1.0))
            d_logits = odds.to(hidden.dtype)
            d_hidden[rows] = d_logits @ head
            d_weight += d_logits.T @ hidden[rows]
        ctx.save_for_backward(d_hidden, d_weight)
        return total / len(hidden)

    @staticmethod
    def backward(ctx, d_loss: Tensor) -> tuple[Tensor, Tensor, None]:
        d_hidden, d_weight = ctx.saved_tensors
        scale = d_loss / len(d_hidden)
        return d_hidden * scale.to(d_hidden.dtype), d_weight * scale, None


def hidden_states(model: Qwen3_5ForCausalLM, inputs: Tensor) -> Tensor:
    """The final norm's output [B, T, D] in bfloat16, computed in bfloat16 autocast from an empty state."""
    with torch.autocast("cpu", torch.bfloat16):
        return model.model(input_ids=inputs, use_cache=False).last_hidden_state.bfloat16()


def next_token_loss(hidden: Tensor, weight: Tensor, targets: Tensor) -> Tensor:
    """Mean cross-entropy in nats a token of hidden [B, T, D] against targets [B, T]."""
    return ChunkedCrossEntropy.apply(hidden.flatten(0, 1), weight, targets.flatten())
