"""Drafted passes in plain torch: what several guessed tokens would give, with the memory left alone until some are
accepted.

Beside `reference`, whose conventions these share. A pass over drafts computes outputs and a journal of what each
token would write; `fold` and `fold_windows` then apply the first `accepted[b]` tokens of sequence b, and the rest
never happened. The pieces first, then the operations.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from kernels.reference import causal_conv, decay_and_write_strength, gated_rms_norm, split_heads


class Journal(NamedTuple):
    """What each token of a DeltaNet layer would write, in the dtype of the activations.

    Only the rows of drafted sequences mean anything.
    """

    keys: Tensor
    """[T, Hk, K], of unit length."""
    writes: Tensor
    """[T, Hv, V], the u of the rule."""
    log_decays: Tensor
    """[T, Hv]"""
    inputs: Tensor
    """[T, C], of the convolution."""


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

    def read(state: Tensor, first: int, upto: int, t: int, x: Tensor) -> Tensor:
        """What a state that has seen the tokens first:upto and decayed as far as token t holds for x [Hv, K]."""
        held = torch.einsum("hvk,hk->hv", state, x) * g[first : t + 1].sum(0).exp()[:, None]
        for i in range(first, upto):
            # Not the difference of two sums from the start: after a huge decay it would have lost the small ones.
            kept = g[i + 1 : t + 1].sum(0).exp() * (k[i] * x).sum(-1)
            held = held + kept[:, None] * writes[i]
        return held

    for sequence, slot in enumerate(slots.tolist()):
        first, end = int(bounds[sequence]), int(bounds[sequence + 1])
        state = states[slot].to(q.dtype)
        for t in range(first, end):
            writes[t] = beta[t][:, None] * (v[t] - read(state, first, t, t, k[t]))
            out[t] = read(state, first, t + 1, t, q[t])
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


def drafted_gated_delta_net(
    projected: Tensor, taps: Tensor, decay_rate: Tensor, dt_bias: Tensor, norm_weight: Tensor, eps: float,
    windows: Tensor, states: Tensor, bounds: Tensor, slots: Tensor, drafted: Tensor,
) -> tuple[Tensor, Journal]:  # fmt: skip
    """`reference.gated_delta_net`, but the windows and states of drafted sequences are left as they are.

    Args:
        drafted: [B] int64, 0 for a sequence whose memory moves on at once. The others: see there.

    Returns:
        The heads' outputs [T, Hv * V], and what `fold_drafts` needs.
    """
    _, n_heads, value_dim, key_dim = states.shape
    inputs, z, b, a = projected.split([taps.shape[1], n_heads * value_dim, n_heads, n_heads], dim=1)
    n_key_heads = (inputs.shape[1] - z.shape[1]) // (2 * key_dim)
    qkv = causal_conv(inputs, taps, windows.clone(), bounds, slots)
    heads, keys, writes, g = drafted_delta_rule(qkv, a, b, decay_rate, dt_bias, states, bounds, slots, n_key_heads)
    journal = Journal(keys, writes, g, inputs)
    fold_drafts(journal, windows, states, bounds, slots, torch.where(drafted == 0, bounds.diff(), -1))
    return gated_rms_norm(heads, z, norm_weight, eps), journal


def fold_drafts(
    journal: Journal, windows: Tensor, states: Tensor, bounds: Tensor, slots: Tensor, accepted: Tensor
) -> None:
    """Let the first `accepted[b]` tokens of each sequence count after all: its state and window move over them.

    Args:
        journal: of a drafted pass over these very sequences, whose memory nothing has written since.
        accepted: [B] int64, from 0 to the sequence's length; -1 leaves alone one that was not drafted.
    """
    count = accepted.clamp(min=0)
    fold(journal.keys, journal.writes, journal.log_decays, states, bounds, slots, count)
    fold_windows(journal.inputs, windows, bounds, slots, count)
