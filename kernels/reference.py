"""What each operation computes, in plain torch: the specification that every faster implementation is tested against.

Nothing here is in a hurry. Each function computes in the dtype of its activations (float32, or float64 for a test that
wants the truth), one token after another where the mathematics is written so, and converts weights and cached values
to it.

First the pieces of the mathematics, then the operations of `dispatch.OPERATIONS` made of them. An operation is what
lies between two points where a model's numbers must pass through memory anyway: a product with a weight matrix
together with the small steps beside it, or all that a mixer does between its two projections.

Packed sequences: an argument `bounds` [B + 1] says that sequence b has the rows `bounds[b]:bounds[b + 1]` of the T
packed tokens, and `slots` [B] says which slot of a pool is its own.

Sources: RMSNorm, arXiv 1910.07467; rotary positions, arXiv 2104.09864; SwiGLU, arXiv 2002.05202; Gated DeltaNet, arXiv
2412.06464; paged attention, arXiv 2309.06180. Conventions are those of the Qwen3.5 checkpoints.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.weight import Weight

if TYPE_CHECKING:
    from kernels.reference_drafts import Journal

L2_EPS = 1e-6


# ------------------------------------------------------------------------------------------------------- pieces


def rms_norm(x: Tensor, weight: Tensor, eps: float, *, zero_centred: bool = False) -> Tensor:
    """Scale x [..., D] to root mean square 1, times the weight [D] or, zero-centred, 1 + weight.

    Qwen3.5 checkpoints hold both kinds: zero-centred ones around blocks and on query and key heads, plain ones in the
    gated norm of a DeltaNet layer. The engine adds the 1 when it loads them, so operations take the plain form.
    """
    scale = weight.to(x.dtype) + 1 if zero_centred else weight.to(x.dtype)
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) * scale


def gated_rms_norm(x: Tensor, gate: Tensor, weight: Tensor, eps: float) -> Tensor:
    """RMS norm over each head of x [T, H, V], plain weight [V], times silu of the gate [T, H * V]: [T, H * V]."""
    return rms_norm(x, weight, eps).flatten(1) * F.silu(gate)


def linear(x: Tensor, weight: Weight) -> Tensor:
    """Multiply x [T, I] by the transposed weight [O, I]; of a quantized one, by what its stored numbers stand for."""
    return x @ weight.to(x.dtype).T


def swiglu(gate_up: Tensor) -> Tensor:
    """Silu of the first half times the second half: [T, 2 I] -> [T, I]."""
    gate, up = gate_up.chunk(2, dim=-1)
    return F.silu(gate) * up


def causal_conv(x: Tensor, taps: Tensor, windows: Tensor, bounds: Tensor, slots: Tensor) -> Tensor:
    """Depthwise causal convolution over time, then silu.

    Args:
        x: inputs [T, C].
        taps: [N, C], the last one for the current token.
        windows: [slots, N - 1, C], each sequence's last N - 1 inputs, oldest first; replaced in place.

    Returns:
        [T, C].
    """
    out = torch.empty_like(x)
    for b, slot in enumerate(slots.tolist()):
        rows = slice(bounds[b], bounds[b + 1])
        seen = torch.cat([windows[slot].to(x.dtype), x[rows]])
        for t in range(len(x[rows])):
            out[bounds[b] + t] = (taps.to(x.dtype) * seen[t : t + len(taps)]).sum(0)
        windows[slot] = seen[len(x[rows]) :]
    return F.silu(out)


def decay_and_write_strength(a: Tensor, b: Tensor, decay_rate: Tensor, dt_bias: Tensor) -> tuple[Tensor, Tensor]:
    """The two gates of the delta rule from their projections [T, H].

    Returns g [T, H], the log of the decay, at most 0: `decay_rate` (= -exp(A_log), [H]) times softplus(a + dt_bias);
    and the write strength beta [T, H] in (0, 1), the sigmoid of b.
    """
    return decay_rate.to(a.dtype) * F.softplus(a + dt_bias.to(a.dtype)), torch.sigmoid(b)


def split_heads(qkv: Tensor, n_key_heads: int, n_value_heads: int, value_dim: int) -> tuple[Tensor, Tensor, Tensor]:
    """Queries and keys [T, Hv, K] of unit length, queries scaled by 1 / sqrt(K), and values [T, Hv, V].

    qkv is [T, 2 Hk K + Hv V]. Key head j serves the Hv / Hk value heads from j * Hv / Hk on.
    """
    value_width = n_value_heads * value_dim
    key_width = (qkv.shape[1] - value_width) // 2
    q, k, v = qkv.split([key_width, key_width, value_width], dim=1)
    q, k = (x.unflatten(1, (n_key_heads, -1)) for x in (q, k))
    q, k = (x * torch.rsqrt(x.square().sum(-1, keepdim=True) + L2_EPS) for x in (q, k))
    groups = n_value_heads // n_key_heads
    q, k = (x.repeat_interleave(groups, dim=1) for x in (q * q.shape[-1] ** -0.5, k))
    return q, k, v.unflatten(1, (n_value_heads, value_dim))


def delta_rule(q: Tensor, k: Tensor, v: Tensor, g: Tensor, beta: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
    """The gated delta rule for one sequence, one token after another.

        S <- exp(g) S;   u = beta (v - S k);   S <- S + u k^T;   o = S q

    The decay comes before the read, and the read for the output after the write.

    Args:
        q, k: [T, H, K]; v: [T, H, V]; g, beta: [T, H]; state: [H, V, K].

    Returns:
        Outputs [T, H, V] and the state after the last token.
    """
    outputs = torch.empty_like(v)
    for t in range(len(q)):
        state = state * g[t].exp()[:, None, None]
        u = beta[t][:, None] * (v[t] - torch.einsum("hvk,hk->hv", state, k[t]))
        state = state + torch.einsum("hv,hk->hvk", u, k[t])
        outputs[t] = torch.einsum("hvk,hk->hv", state, q[t])
    return outputs, state


def gated_delta_rule(
    qkv: Tensor, a: Tensor, b: Tensor, decay_rate: Tensor, dt_bias: Tensor, states: Tensor, bounds: Tensor,
    slots: Tensor, n_key_heads: int,
) -> Tensor:  # fmt: skip
    """The delta rule on packed sequences, from the convolved projections to the heads' outputs.

    Args:
        qkv: [T, 2 Hk K + Hv V], queries, keys and values side by side.
        a, b: projections of the decay and of the write strength [T, Hv].
        decay_rate, dt_bias: [Hv].
        states: [slots, Hv, V, K]; each sequence's own is replaced in place.

    Returns:
        [T, Hv, V].
    """
    _, n_value_heads, value_dim, _ = states.shape
    q, k, v = split_heads(qkv, n_key_heads, n_value_heads, value_dim)
    g, beta = decay_and_write_strength(a, b, decay_rate, dt_bias)
    out = torch.empty_like(v)
    for i, slot in enumerate(slots.tolist()):
        rows = slice(bounds[i], bounds[i + 1])
        out[rows], state = delta_rule(q[rows], k[rows], v[rows], g[rows], beta[rows], states[slot].to(q.dtype))
        states[slot] = state
    return out


def rotary_table(n_positions: int, rotary_dim: int, theta: float) -> Tensor:
    """Cosine and sine of every rotation [n_positions, rotary_dim]: a row has its cosines, then its sines.

    Angles are float32 products, as in the library that the checkpoints were trained with; a text position is the same
    in all sections of Qwen's interleaved mRoPE, which is then this.
    """
    frequencies = 1.0 / theta ** (torch.arange(0, rotary_dim, 2, dtype=torch.float32) / rotary_dim)
    angles = torch.arange(n_positions, dtype=torch.float32)[:, None] * frequencies
    return torch.cat([angles.cos(), angles.sin()], dim=1)


def rotate(x: Tensor, positions: Tensor, rotary: Tensor) -> Tensor:
    """Rotate the first R dimensions of every head of x [T, H, D], half against half; the others pass through."""
    half = rotary.shape[1] // 2
    cos, sin = rotary[positions].to(x.dtype)[:, None].split(half, dim=-1)
    first, second, rest = x.split([half, half, x.shape[-1] - 2 * half], dim=-1)
    return torch.cat([first * cos - second * sin, second * cos + first * sin, rest], dim=-1)


def rotate_and_store(
    q: Tensor, k: Tensor, v: Tensor, q_scale: Tensor, k_scale: Tensor, eps: float, positions: Tensor, rotary: Tensor,
    keys: Tensor, values: Tensor, kv_rows: Tensor,
) -> Tensor:  # fmt: skip
    """Normalize and rotate queries and keys, and put keys and values into the cache.

    Args:
        q: [T, Hq * D]; k, v: [T, Hkv * D].
        q_scale, k_scale: [D], plain weights of the norms over each head, which come before the rotation.
        positions: [T]; rotary: `rotary_table`.
        keys, values: one layer's pages [Hkv, pages, page size, D], written in place.
        kv_rows: [T], page * page size + offset of each token.

    Returns:
        Queries [T, Hq, D].
    """
    dim = keys.shape[-1]
    q, k, v = (x.unflatten(1, (-1, dim)) for x in (q, k, v))
    q = rotate(rms_norm(q, q_scale, eps), positions, rotary)
    store(rotate(rms_norm(k, k_scale, eps), positions, rotary), v, keys, values, kv_rows)
    return q


def store(k: Tensor, v: Tensor, keys: Tensor, values: Tensor, kv_rows: Tensor) -> None:
    """Put keys and values [T, Hkv, D] into one layer's pages [Hkv, pages, page size, D], at `kv_rows` [T]."""
    for pool, new in ((keys, k), (values, v)):
        pool.flatten(1, 2)[:, kv_rows] = new.transpose(0, 1).to(pool.dtype)


def paged_attention(
    q: Tensor, gate: Tensor, keys: Tensor, values: Tensor, page_tables: Tensor, positions: Tensor, bounds: Tensor
) -> Tensor:
    """`attend`, times the sigmoid of the output gate [T, Hq * D]."""
    return attend(q, keys, values, page_tables, positions, bounds) * torch.sigmoid(gate)


def attend(q: Tensor, keys: Tensor, values: Tensor, page_tables: Tensor, positions: Tensor, bounds: Tensor) -> Tensor:
    """Causal attention of each token over its own sequence's cache.

    Args:
        q: [T, Hq, D].
        keys, values: one layer's pages [Hkv, pages, page size, D]; those of this pass are already in them.
        page_tables: [B, most pages]; query head h reads key head h * Hkv // Hq.

    Returns:
        [T, Hq * D].
    """
    n_heads, dim = q.shape[1:]
    out = torch.empty_like(q)
    for b, table in enumerate(page_tables.long()):
        pages = table[table >= 0]
        k, v = (pool[:, pages].flatten(1, 2).to(q.dtype) for pool in (keys, values))
        k, v = (x.repeat_interleave(n_heads // len(x), dim=0) for x in (k, v))
        for t in range(bounds[b], bounds[b + 1]):
            held = int(positions[t]) + 1
            scores = torch.einsum("hd,hpd->hp", q[t], k[:, :held]) * dim**-0.5
            out[t] = torch.einsum("hp,hpd->hd", scores.softmax(-1), v[:, :held])
    return out.flatten(1)


# --------------------------------------------------------------------------------------------------- operations


def embedding(ids: Tensor, table: Weight) -> Tensor:
    """Rows of the table [V, D] for the ids [T], as float32 [T, D]."""
    return table[ids].float()


def norm_linear(x: Tensor, scale: Tensor, eps: float, weight: Weight) -> Tensor:
    """RMS norm of x [T, I] with plain weight `scale` [I], then the product with the weight [O, I]: [T, O]."""
    return linear(rms_norm(x, scale, eps), weight)


def linear_add(out: Tensor, x: Tensor, weight: Weight) -> None:
    """Add x [T, I] times the transposed weight [O, I] to out [T, O] in place: a block's product onto the residual."""
    out += linear(x, weight)


def swiglu_linear_add(out: Tensor, gate_up: Tensor, weight: Weight) -> None:
    """Add swiglu(gate_up [T, 2 I]) times the transposed weight [O, I] to out [T, O] in place."""
    out += linear(swiglu(gate_up), weight)


def gated_delta_net(
    projected: Tensor, taps: Tensor, decay_rate: Tensor, dt_bias: Tensor, norm_weight: Tensor, eps: float,
    windows: Tensor, states: Tensor, bounds: Tensor, slots: Tensor,
) -> Tensor:  # fmt: skip
    """What a Gated DeltaNet layer does between its two projections.

    Args:
        projected: [T, (2 Hk K + Hv V) + Hv V + Hv + Hv]: queries, keys and values | output gate z | b | a.
        taps: [N, C] of the convolution over the C = 2 Hk K + Hv V channels of queries, keys and values.
        decay_rate, dt_bias: [Hv]. norm_weight: [V], plain.
        windows: [slots, N - 1, C] and states: [slots, Hv, V, K]; each sequence's own are replaced in place.

    Returns:
        The heads' outputs, normalized and gated: [T, Hv * V].
    """
    _, n_heads, value_dim, key_dim = states.shape
    qkv, z, b, a = projected.split([taps.shape[1], n_heads * value_dim, n_heads, n_heads], dim=1)
    n_key_heads = (qkv.shape[1] - z.shape[1]) // (2 * key_dim)
    qkv = causal_conv(qkv, taps, windows, bounds, slots)
    heads = gated_delta_rule(qkv, a, b, decay_rate, dt_bias, states, bounds, slots, n_key_heads)
    return gated_rms_norm(heads, z, norm_weight, eps)


def gated_attention(
    projected: Tensor, q_scale: Tensor, k_scale: Tensor, eps: float, rotary: Tensor,
    keys: Tensor, values: Tensor, positions: Tensor, kv_rows: Tensor, page_tables: Tensor, bounds: Tensor,
) -> Tensor:  # fmt: skip
    """What a gated full-attention layer does between its two projections.

    Args:
        projected: [T, Hq D + Hq D + Hkv D + Hkv D]: queries | output gates | keys | values.
        q_scale, k_scale: [D], plain weights of the norms over each query and key head, which come before the rotation.
        rotary: `rotary_table`. positions: [T].
        keys, values: one layer's pages [Hkv, pages, page size, D]; the new ones are put at `kv_rows` [T] (page * page
        size +
            offset), and everything is read back from there, so that what a prompt sees does not depend on how it came
            in.
        page_tables: [B, most pages].

    Returns:
        The heads' outputs times the sigmoid of their gates: [T, Hq D].
    """
    n_kv_heads, _, _, dim = keys.shape
    kv_width = n_kv_heads * dim
    width = projected.shape[1] // 2 - kv_width
    q, gate, k, v = projected.split([width, width, kv_width, kv_width], dim=1)
    q = rotate_and_store(q, k, v, q_scale, k_scale, eps, positions, rotary, keys, values, kv_rows)
    return paged_attention(q, gate, keys, values, page_tables, positions, bounds)


def attention(
    projected: Tensor, rotary: Tensor, keys: Tensor, values: Tensor, positions: Tensor, kv_rows: Tensor,
    page_tables: Tensor, bounds: Tensor,
) -> Tensor:  # fmt: skip
    """What a full-attention layer without output gates and head norms does between its two projections.

    Args:
        projected: [T, Hq D + Hkv D + Hkv D]: queries | keys | values. The others: see `gated_attention`.

    Returns:
        The heads' outputs [T, Hq D].
    """
    n_kv_heads, _, _, dim = keys.shape
    kv_width = n_kv_heads * dim
    parts = projected.split([projected.shape[1] - 2 * kv_width, kv_width, kv_width], dim=1)
    q, k, v = (x.unflatten(1, (-1, dim)) for x in parts)
    q, k = (rotate(x, positions, rotary) for x in (q, k))
    store(k, v, keys, values, kv_rows)
    return attend(q, keys, values, page_tables, positions, bounds)


def drafted_gated_delta_net(
    projected: Tensor, taps: Tensor, decay_rate: Tensor, dt_bias: Tensor, norm_weight: Tensor, eps: float,
    windows: Tensor, states: Tensor, bounds: Tensor, slots: Tensor, drafted: Tensor,
) -> tuple[Tensor, Journal]:  # fmt: skip
    """See `reference_drafts.drafted_gated_delta_net`."""
    from kernels import reference_drafts  # made of the pieces above

    return reference_drafts.drafted_gated_delta_net(
        projected, taps, decay_rate, dt_bias, norm_weight, eps, windows, states, bounds, slots, drafted
    )


def fold_drafts(
    journal: Journal, windows: Tensor, states: Tensor, bounds: Tensor, slots: Tensor, accepted: Tensor
) -> None:
    """See `reference_drafts.fold_drafts`."""
    from kernels import reference_drafts

    reference_drafts.fold_drafts(journal, windows, states, bounds, slots, accepted)
