"""The chunked loss and the fast layers against torch's and transformers' own."""

import copy

import pytest
import torch
import torch.nn.functional as F
from transformers import Qwen3_5ForCausalLM

from training import loss as loss_module
from training.fast_layers import speed_up
from training.loss import next_token_loss
from training.story_model import story_config


@pytest.mark.parametrize("compiler", [True, False])
def test_loss_and_gradients_equal_torchs_cross_entropy(compiler, monkeypatch):
    if not compiler:
        monkeypatch.setattr(loss_module, "available", lambda: False)
    elif not loss_module.available():
        pytest.skip("no C++ compiler here")
    torch.manual_seed(0)
    hidden, weight = torch.randn(3, 700, 32), torch.randn(50, 32)
    targets = torch.randint(0, 50, (3, 700))
    a = [hidden.clone().requires_grad_(), weight.clone().requires_grad_()]
    b = [hidden.double().requires_grad_(), weight.double().requires_grad_()]
    got = next_token_loss(*a, targets)
    wanted = F.cross_entropy((b[0] @ b[1].T).flatten(0, 1), targets.flatten())
    got.backward()
    wanted.backward()
    assert got.item() == pytest.approx(wanted.item(), rel=1e-6)
    for x, y in zip(a, b, strict=True):
        assert torch.allclose(x.grad.double(), y.grad, rtol=1e-4, atol=1e-7)


def test_fast_layers_give_transformers_own_loss_and_gradients():
    config = story_config()
    config.num_hidden_layers, config.layer_types = 2, ["linear_attention", "full_attention"]
    torch.manual_seed(0)
    fast = Qwen3_5ForCausalLM(config)
    with torch.no_grad():
        for parameter in fast.parameters():  # norm weights, A_log and dt_bias too, so that none is at a special value
            parameter.add_(0.1 * torch.randn_like(parameter))
    plain = copy.deepcopy(fast)
    speed_up(fast, compile_layers=False)
    ids = torch.randint(0, config.vocab_size, (2, 71))
    next_token_loss(fast.model(input_ids=ids[:, :-1]).last_hidden_state, fast.lm_head.weight, ids[:, 1:]).backward()
    logits = plain(input_ids=ids[:, :-1]).logits
    F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten()).backward()
    for (name, a), b in zip(fast.named_parameters(), plain.parameters(), strict=True):
        assert (a.grad - b.grad).norm() < 1e-4 * b.grad.norm(), name
