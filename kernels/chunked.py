"""The gated delta rule a chunk of tokens at a time, so that a prompt is products of matrices instead of a walk.

Inside a chunk that starts with the state S, with G_i the sum of the log decays up to token i, every token writes

    u_i = beta_i (v_i - exp(G_i) S k_i - sum over j < i of exp(G_i - G_j) (k_j . k_i) u_j)

which is a unit lower triangular system for all u of the chunk at once (the WY form: Gated DeltaNet, arXiv 2412.06464,
section 3.3, and Parallelizing Linear Transformers with the Delta Rule, arXiv 2406.06484). Chunks follow one another,
so S is known when the system is solved, and one right-hand side is enough.

The system is solved by substitution, never by powers of its matrix: with a repeated key and strong writes the powers
grow beyond what float32 can cancel again.
"""

from __future__ import annotations

import torch
from torch import Tensor

CHUNK = 64


def chunked_delta_rule(q: Tensor, k: Tensor, v: Tensor, g: Tensor, beta: Tensor, state: Tensor, out: Tensor) -> None:
    """`reference.delta_rule` for one sequence: q, k [T, H, K]; v, out [T, H, V]; g, beta [T, H]; state [H, V, K].

    Writes the outputs into `out` and the last state into `state`.
    """
    for first in range(0, len(q), CHUNK):
        rows = slice(first, first + CHUNK)
        q_, k_, v_, g_, beta_ = (x[rows].transpose(0, 1) for x in (q, k, v, g, beta))
        out[rows] = _one_chunk(q_, k_, v_, g_, beta_, state).transpose(0, 1)


def _one_chunk(q: Tensor, k: Tensor, v: Tensor, g: Tensor, beta: Tensor, state: Tensor) -> Tensor:
    """Outputs [H, c, V] of one chunk, heads first; the state is moved on in place."""
    total = g.cumsum(1)
    # Masked before exp: above the diagonal the differences are positive and would overflow.
    ahead = torch.ones(g.shape[1], g.shape[1], dtype=torch.bool).triu_(1)
    decay = (total[:, :, None] - total[:, None, :]).masked_fill_(ahead, -torch.inf).exp_()
    since_start = total.exp()[..., None]
    keys_met = (k @ k.transpose(1, 2)).mul_(decay).mul_(beta[..., None])
    unwritten = torch.baddbmm(v, k * since_start, state.transpose(1, 2), alpha=-1).mul_(beta[..., None])
    u = torch.linalg.solve_triangular(keys_met, unwritten, upper=False, unitriangular=True)
    out = torch.bmm(q * since_start, state.transpose(1, 2))
    out.baddbmm_((q @ k.transpose(1, 2)).mul_(decay), u)
    until_end = (total[:, -1:] - total).exp()[..., None]
    state.mul_(since_start[:, -1:]).baddbmm_(u.transpose(1, 2), k * until_end)
    return out
