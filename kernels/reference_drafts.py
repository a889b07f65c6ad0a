"""Drafted passes in plain torch: what several guessed tokens would give, with the memory left alone until some are
accepted.

Beside `reference`, whose conventions these share. A pass over drafts computes outputs and a journal of what each
token would write; `fold` and `fold_windows` then apply the first `accepted[b]` tokens of sequence b, and the rest
never happened.
"""

from __future__ import annotations

import torch
from torch import Tensor

from kernels.reference import decay_and_write_strength, split_heads


def drafted_delta_rule(
    qkv: Tensor, a: Tensor, b: Tensor, decay_rate: Tensor, dt_bias: Tensor, states: Tensor, bounds: Tensor,
    slots: Tensor, n_key_heads: int,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """`reference.gated_delta_rule` with the states untouched, and a journal.

    Outputs are read from the state before the pass and the tokens' own writes, without forming the states in between:
    with G_t the sum of g up to token t,

        S_t x = e^{G_t} S_0 x + sum over i <= t of e^{G_t - G_i} (k_i . x) u_i

    Returns:
        Outputs [T, Hv, V]; keys of unit length [T, Hk, K]; writes u [T, Hv, V]; log decays g [T, Hv].
    """
    _, n_heads, value_dim, _ = states.shape
    q, k, v = split_heads(qkv, n_key_heads, n_heads, value_dim)
    g, beta = decay_and_write_strength(a, b, decay_rate, dt_bias)
    out, writes = torch.empty_like(v), torch.empty_like(v)

    def read(state: Tensor, first: int, upto: int, now: Tensor, x: Tensor) -> Tensor:
        """What a state that has seen the tokens first:upto and decayed to `now` [Hv] holds for x [Hv, K]."""
        held = torch.einsum("hvk,hk->hv", state, x) * now.exp()[:, None]
        for i in range(first, upto):
            kept = (now - g[first : i + 1].sum(0)).exp() * (k[i] * x).sum(-1)
            held = held + kept[:, None] * writes[i]
        return held

    for sequence, slot in enumerate(slots.tolist()):
        first, end = int(bounds[sequence]), int(bounds[sequence + 1])
        state = states[slot].to(q.dtype)
        for t in range(first, end):
            now = g[first : t + 1].sum(0)
            writes[t] = beta[t][:, None] * (v[t] - read(state, first, t, now, k[t]))
            out[t] = read(state, first, t + 1, now, q[t])
    return out, k[:, :: n_heads // n_key_heads], writes, g


def fold(
    keys: Tensor, writes: Tensor, log_decays: Tensor, states: Tensor, bounds: Tensor, slots: Tensor, accepted: Tensor
) -> None:
    """Apply the first `accepted[b]` tokens of each sequence to its state, in place: S <- e^g S + u k^T.

    Args:
        keys: [T, Hk, K]; writes: [T, Hv, V]; log_decays: [T, Hv], as `drafted_delta_rule` returned them.
        states: [slots, Hv, V, K].
        accepted: [B], each from 0 to the sequence's length.
    """
    k = keys.repeat_interleave(writes.shape[1] // keys.shape[1], dim=1)
    for sequence, slot in enumerate(slots.tolist()):
        state = states[slot].to(writes.dtype)
        for t in range(int(bounds[sequence]), int(bounds[sequence] + accepted[sequence])):
            state = state * log_decays[t].exp()[:, None, None] + torch.einsum("hv,hk->hvk", writes[t], k[t])
        states[slot] = state


def fold_windows(x: Tensor, windows: Tensor, bounds: Tensor, slots: Tensor, accepted: Tensor) -> None:
    """Move each sequence's convolution window over its first `accepted[b]` inputs, in place.

    Args:
        x: the convolution's inputs [T, C].
        windows: [slots, N - 1, C], oldest first.
        accepted: [B], each from 0 to the sequence's length.
    """
    for sequence, slot in enumerate(slots.tolist()):
        first = int(bounds[sequence])
        seen = torch.cat([windows[slot].to(x.dtype), x[first : first + int(accepted[sequence])]])
        windows[slot] = seen[int(accepted[sequence]) :]
