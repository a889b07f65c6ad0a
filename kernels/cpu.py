"""The operations in torch, with as few calls as the mathematics allows: the path for machines without a C++ compiler.

Signatures and meanings are those of `reference`. A pass of a small model is mostly the cost of the calls (a
microsecond or two each), so one token of one sequence takes a short way everywhere, with the state updated in place.
"""

from __future__ import annotations

import threading

import torch
import torch.nn.functional as F
from torch import Tensor

from kernels import reference_drafts
from kernels.chunked import chunked_delta_rule
from kernels.reference import L2_EPS
from kernels.reference_drafts import Journal
from kernels.weight import Weight

# Elements of a weight that are widened to float32 at a time: 1 MiB of them stays in a core's second-level cache.
BLOCK = 1 << 18

_scratch = threading.local()


def embedding(ids: Tensor, table: Weight) -> Tensor:
    """See `reference.embedding`."""
    if isinstance(table, Tensor):
        return table.index_select(0, ids).float()
    return table[ids].float()


def norm_linear(x: Tensor, scale: Tensor, eps: float, weight: Weight) -> Tensor:
    """See `reference.norm_linear`."""
    return _linear(F.rms_norm(x, scale.shape, scale, eps), weight)


def linear_add(out: Tensor, x: Tensor, weight: Weight) -> None:
    """See `reference.linear_add`."""
    out.add_(_linear(x, weight))


def swiglu_linear_add(out: Tensor, gate_up: Tensor, weight: Weight) -> None:
    """See `reference.swiglu_linear_add`."""
    gate, up = gate_up.chunk(2, dim=1)
    out.add_(_linear(F.silu(gate).mul_(up), weight))


def _linear(x: Tensor, weight: Weight) -> Tensor:
    """Multiply x [T, I] by the transposed weight [O, I], in float32 whatever the weight is stored as.

    A bfloat16 weight is widened a block of rows at a time, a packed one unpacked. torch's own bfloat16 products would
    round x and the result, and for the small matrices of one token they are no faster.
    """
    rows = max(1, BLOCK // weight.shape[1])
    if not isinstance(weight, Tensor):
        return torch.cat([F.linear(x, block) for block in weight.blocks(rows)], dim=1)
    if weight.dtype == x.dtype:
        return F.linear(x, weight)
    if len(weight) <= rows:
        return F.linear(x, _widened(weight))
    return torch.cat([F.linear(x, _widened(block)) for block in weight.split(rows)], dim=1)


def _widened(weight: Tensor) -> Tensor:
    """The weight as float32, in a buffer that the next call overwrites: a fresh one would cost page faults."""
    n = weight.numel()
    if getattr(_scratch, "buffer", None) is None or n > len(_scratch.buffer):
        # A plain tensor, whoever comes first: one made in inference mode could not be written outside of it.
        with torch.inference_mode(False):
            _scratch.buffer = torch.empty(n)
    return _scratch.buffer[:n].view_as(weight).copy_(weight)


def gated_delta_net(
    projected: Tensor, taps: Tensor, decay_rate: Tensor, dt_bias: Tensor, norm_weight: Tensor, eps: float,
    windows: Tensor, states: Tensor, bounds: Tensor, slots: Tensor,
) -> Tensor:  # fmt: skip
    """See `reference.gated_delta_net`."""
    _, n_heads, value_dim, key_dim = states.shape
    qkv, z, b, a = projected.split([taps.shape[1], n_heads * value_dim, n_heads, n_heads], dim=1)
    one_each = len(projected) == len(slots)
    convolve, rule = (_convolve_step, _delta_step) if one_each else (_convolve_spans, _delta_spans)
    q, k, v = _split_heads(convolve(qkv, taps, windows, bounds, slots), n_heads, value_dim, key_dim)
    g = F.softplus(a + dt_bias).mul_(decay_rate)
    heads = rule(q, k, v, g, b.sigmoid(), states, bounds, slots)
    return F.rms_norm(heads, norm_weight.shape, norm_weight, eps).flatten(1).mul_(F.silu(z))


def drafted_gated_delta_net(
    projected: Tensor, taps: Tensor, decay_rate: Tensor, dt_bias: Tensor, norm_weight: Tensor, eps: float,
    windows: Tensor, states: Tensor, bounds: Tensor, slots: Tensor, drafted: Tensor,
) -> tuple[Tensor, Journal]:  # fmt: skip
    """See `reference.drafted_gated_delta_net`. Drafts are few tokens, so they take the plain statement."""
    out = torch.empty(len(projected), norm_weight.numel() * states.shape[1])
    journal = None
    for guessed in (False, True):
        chosen = (drafted != 0) == guessed
        lengths = bounds.diff()[chosen]
        if not len(lengths):
            continue
        rows = chosen.repeat_interleave(bounds.diff()).nonzero()[:, 0]
        part = (projected[rows], taps, decay_rate, dt_bias, norm_weight, eps, windows, states)
        edges = F.pad(lengths.cumsum(0), (1, 0))
        if guessed:
            out[rows], written = reference_drafts.drafted_gated_delta_net(*part, edges, slots[chosen], drafted[chosen])
            journal = Journal(*(x.new_empty(len(out), *x.shape[1:]).index_copy_(0, rows, x) for x in written))
        else:
            out[rows] = gated_delta_net(*part, edges, slots[chosen])
    assert journal is not None, "a drafted pass has a drafted sequence"
    return out, journal


def fold_drafts(
    journal: Journal, windows: Tensor, states: Tensor, bounds: Tensor, slots: Tensor, accepted: Tensor
) -> None:
    """See `reference.fold_drafts`."""
    for slot, first, count in zip(slots.tolist(), bounds.tolist(), accepted.tolist(), strict=False):
        if count <= 0:
            continue
        k, u, g = (x[first : first + count].transpose(0, 1) for x in journal[:3])
        k = k.repeat_interleave(len(u) // len(k), dim=0)
        since = F.pad(g, (0, 1)).flip(1).cumsum(1).flip(1).exp_()
        states[slot].mul_(since[:, :1, None]).baddbmm_((u * since[:, 1:, None]).transpose(1, 2), k)
    reference_drafts.fold_windows(journal.inputs, windows, bounds, slots, accepted.clamp(min=0))


def _convolve_step(x: Tensor, taps: Tensor, windows: Tensor, _bounds: Tensor, slots: Tensor) -> Tensor:
    """One new input [B, C] for each sequence."""
    seen = torch.cat([windows.index_select(0, slots), x[:, None]], dim=1)
    windows.index_copy_(0, slots, seen[:, 1:])
    return F.silu((seen * taps).sum(1))


def _convolve_spans(x: Tensor, taps: Tensor, windows: Tensor, bounds: Tensor, slots: Tensor) -> Tensor:
    out = torch.empty(x.shape)
    edges = bounds.tolist()
    for slot, first, end in zip(slots.tolist(), edges, edges[1:], strict=False):
        seen = torch.cat([windows[slot], x[first:end]])
        mixed = torch.mul(seen[: end - first], taps[0], out=out[first:end])
        for i in range(1, len(taps)):
            mixed.addcmul_(seen[i : i + end - first], taps[i])
        windows[slot].copy_(seen[end - first :])
    return F.silu(out, inplace=True)


def _split_heads(qkv: Tensor, n_heads: int, value_dim: int, key_dim: int) -> tuple[Tensor, Tensor, Tensor]:
    qk, v = qkv.split([qkv.shape[1] - n_heads * value_dim, n_heads * value_dim], dim=1)
    # A vector of unit length is the one of unit root mean square over the root of its size.
    q, k = F.rms_norm(qk.unflatten(1, (-1, key_dim)), (key_dim,), eps=L2_EPS / key_dim).chunk(2, dim=1)
    q, k = q * (1 / key_dim), k * key_dim**-0.5
    if q.shape[1] != n_heads:
        q, k = (x.repeat_interleave(n_heads // x.shape[1], dim=1) for x in (q, k))
    return q, k, v.unflatten(1, (n_heads, value_dim))


def _delta_step(
    q: Tensor, k: Tensor, v: Tensor, g: Tensor, beta: Tensor, states: Tensor, _bounds: Tensor, slots: Tensor
) -> Tensor:
    """One token for each sequence; [B, Hv, ...].

    Both reads are taken from the old state in one product, S k and S q, since the new one's is
    exp(g) S q + u (k . q).
    """
    alone = len(slots) == 1
    state = states[int(slots)].unsqueeze(0) if alone else states.index_select(0, slots)
    decay = g.exp_()[..., None]
    read_k, read_q = (state @ torch.stack([k, q], dim=-1)).mul_(decay[..., None]).unbind(-1)
    u = (v - read_k).mul_(beta[..., None])
    state.mul_(decay[..., None]).addcmul_(u[..., None], k[..., None, :])
    if not alone:
        states.index_copy_(0, slots, state)
    return torch.addcmul(read_q, u, (k * q).sum(-1, keepdim=True))


def _delta_spans(
    q: Tensor, k: Tensor, v: Tensor, g: Tensor, beta: Tensor, states: Tensor, bounds: Tensor, slots: Tensor
) -> Tensor:
    out = torch.empty(v.shape)
    edges = bounds.tolist()
    for slot, first, end in zip(slots.tolist(), edges, edges[1:], strict=False):
        rows = slice(first, end)
        chunked_delta_rule(q[rows], k[rows], v[rows], g[rows], beta[rows], states[slot], out[rows])
    return out


def gated_attention(
    projected: Tensor, q_scale: Tensor, k_scale: Tensor, eps: float, rotary: Tensor,
    keys: Tensor, values: Tensor, positions: Tensor, kv_rows: Tensor, page_tables: Tensor, bounds: Tensor,
) -> Tensor:  # fmt: skip
    """See `reference.gated_attention`."""
    n_kv_heads, _, _, dim = keys.shape
    kv_width = n_kv_heads * dim
    width = projected.shape[1] // 2 - kv_width
    q, gate, k, v = projected.split([width, width, kv_width, kv_width], dim=1)
    cos, sin = rotary.index_select(0, positions)[:, None].chunk(2, dim=-1)
    q = _rotated(F.rms_norm(q.unflatten(1, (-1, dim)), (dim,), q_scale, eps), cos, sin)
    k = _rotated(F.rms_norm(k.unflatten(1, (-1, dim)), (dim,), k_scale, eps), cos, sin)
    _store(k, v.unflatten(1, (-1, dim)), keys, values, kv_rows)
    return _attend_all(q, keys, values, positions, page_tables, bounds).mul_(gate.sigmoid())


def attention(
    projected: Tensor, rotary: Tensor, keys: Tensor, values: Tensor, positions: Tensor, kv_rows: Tensor,
    page_tables: Tensor, bounds: Tensor,
) -> Tensor:  # fmt: skip
    """See `reference.attention`."""
    n_kv_heads, _, _, dim = keys.shape
    q_k, v = projected.unflatten(1, (-1, dim)).tensor_split([-n_kv_heads], dim=1)
    cos, sin = rotary.index_select(0, positions)[:, None].chunk(2, dim=-1)
    q, k = _rotated(q_k.clone(), cos, sin).tensor_split([-n_kv_heads], dim=1)
    _store(k, v, keys, values, kv_rows)
    return _attend_all(q, keys, values, positions, page_tables, bounds)


def _store(k: Tensor, v: Tensor, keys: Tensor, values: Tensor, kv_rows: Tensor) -> None:
    for pool, new in ((keys, k), (values, v)):
        pool.flatten(1, 2).index_copy_(1, kv_rows, new.transpose(0, 1).to(pool.dtype))


def _attend_all(
    q: Tensor, keys: Tensor, values: Tensor, positions: Tensor, page_tables: Tensor, bounds: Tensor
) -> Tensor:
    """Every sequence's queries [T, Hq, D] over its own positions: [T, Hq * D]."""
    out = torch.empty(len(q), len(keys), q.shape[1] // len(keys), q.shape[2])
    edges = bounds.tolist()
    for table, first, end in zip(page_tables, edges, edges[1:], strict=False):
        _attend(q[first:end], keys, values, table, int(positions[end - 1]) + 1, out[first:end])
    return out.flatten(1)


def _rotated(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotate the first dimensions of x [T, H, D] in place."""
    half = cos.shape[-1]
    first, second = x[..., :half], x[..., half : 2 * half]
    rotated = torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)
    x[..., : 2 * half] = rotated
    return x


def _attend(q: Tensor, keys: Tensor, values: Tensor, table: Tensor, held: int, out: Tensor) -> None:
    """The last n of `held` positions of one sequence, q [n, Hq, D], over all of them; out is [n, Hkv, Hq / Hkv, D]."""
    page_size, dim = keys.shape[2:]
    pages = table[: -(-held // page_size)]
    k, v = (pool.index_select(1, pages).flatten(1, 2)[:, :held].float() for pool in (keys, values))
    n = len(q)
    if n == 1:
        # One product for the group of query heads that share a key head; no copies of K and V.
        weights = (q.reshape(len(k), -1, dim) @ k.transpose(1, 2)).mul_(dim**-0.5).softmax(-1)
        torch.bmm(weights, v, out=out[0])
        return
    visible = torch.arange(held) <= torch.arange(held - n, held)[:, None]
    heads = F.scaled_dot_product_attention(
        q.transpose(0, 1)[None], k[None], v[None], attn_mask=visible, enable_gqa=True
    )
    out.copy_(heads[0].transpose(0, 1).view_as(out))
