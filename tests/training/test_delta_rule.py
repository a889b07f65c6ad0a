"""The compiled token mixer against a plain recurrence in float64 that autograd differentiates."""

import pytest
import torch
import torch.nn.functional as F

from training import native
from training.delta_rule import delta_mixer

pytestmark = pytest.mark.skipif(not native.available(), reason="no C++ compiler here")
HEADS, SIZE = 2, 64


def plain_mixer(mixed, weight, g, beta):
    """Convolution, SiLU, unit length and the recurrence as the papers write them, one token after another."""
    padded = F.pad(mixed.transpose(1, 2), (weight.shape[1] - 1, 0))
    x = F.silu(F.conv1d(padded, weight[:, None], groups=weight.shape[0])).transpose(1, 2)
    q, k, v = x.unflatten(-1, (3, HEADS, SIZE)).unbind(2)
    q, k = (y * (y.square().sum(-1, keepdim=True) + 1e-6).rsqrt() for y in (q, k))
    state, out = mixed.new_zeros(mixed.shape[0], HEADS, SIZE, SIZE), []
    for t in range(mixed.shape[1]):
        state = state * g[:, t, :, None, None].exp()
        error = v[:, t] - torch.einsum("bhkv,bhk->bhv", state, k[:, t])
        state = state + torch.einsum("bhk,bhv->bhkv", k[:, t], beta[:, t, :, None] * error)
        out.append(torch.einsum("bhkv,bhk->bhv", state, q[:, t]) * SIZE**-0.5)
    return torch.stack(out, dim=1)


def some_inputs(tokens):
    torch.manual_seed(tokens)
    mixed = torch.randn(2, tokens, 3 * HEADS * SIZE)
    weight = torch.rand(3 * HEADS * SIZE, 4) - 0.5
    return [mixed, weight, -torch.rand(2, tokens, HEADS), torch.rand(2, tokens, HEADS)]


def outputs_and_gradients(mixer, inputs, dtype):
    leaves = [x.to(dtype).requires_grad_() for x in inputs]
    out = mixer(*leaves)
    torch.manual_seed(1)
    (out * torch.randn(out.shape, dtype=torch.float64).to(out.dtype)).sum().backward()
    return [out.detach(), *(leaf.grad for leaf in leaves)]


def relative_error(got, wanted):
    return ((got.double() - wanted).abs().max() / wanted.abs().max().clamp_min(1e-9)).item()


@pytest.mark.parametrize("tokens", [1, 3, 31, 32, 33, 77])
def test_outputs_and_all_gradients_match_float64_autograd_at_any_length(tokens):
    wanted = outputs_and_gradients(plain_mixer, some_inputs(tokens), torch.float64)
    got = outputs_and_gradients(delta_mixer, some_inputs(tokens), torch.float32)
    for name, a, b in zip(("out", "mixed", "weight", "g", "beta"), got, wanted, strict=True):
        assert relative_error(a, b) < 1e-5, name


def test_a_token_repeated_with_full_write_strength_stays_exact():
    """The case in which inverting the chunk rule's triangle by doubling goes wrong by many orders of magnitude."""
    mixed, weight, g, _ = some_inputs(200)
    inputs = [mixed[:, :1].expand_as(mixed).contiguous(), weight, torch.zeros_like(g), torch.full_like(g, 0.99)]
    wanted = outputs_and_gradients(plain_mixer, inputs, torch.float64)
    got = outputs_and_gradients(delta_mixer, inputs, torch.float32)
    for name, a, b in zip(("out", "mixed", "weight", "g", "beta"), got, wanted, strict=True):
        assert relative_error(a, b) < 1e-4, name


def test_decay_that_forgets_everything_makes_each_token_stand_alone():
    mixed, weight, g, beta = some_inputs(40)
    weight[:, :3] = 0  # the convolution sees its own token only
    all_at_once = delta_mixer(mixed, weight, torch.full_like(g, -200.0), beta)

    def token(x, t):
        return x[:, t : t + 1].contiguous()

    alone = [delta_mixer(token(mixed, t), weight, token(g, t), token(beta, t)) for t in range(40)]
    assert torch.allclose(all_at_once, torch.cat(alone, dim=1), atol=1e-6)


def test_the_first_columns_of_a_wider_projection_are_read_in_place():
    mixed, weight, g, beta = some_inputs(33)
    wide = torch.cat([mixed, torch.randn(2, 33, 40)], dim=-1)
    assert torch.equal(delta_mixer(wide[..., : mixed.shape[-1]], weight, g, beta), delta_mixer(mixed, weight, g, beta))


def test_a_head_of_another_size_is_refused():
    mixed, weight, g, beta = some_inputs(4)
    with pytest.raises(RuntimeError, match="heads of size 64"):
        delta_mixer(mixed[..., :-3].contiguous(), weight, g, beta)
