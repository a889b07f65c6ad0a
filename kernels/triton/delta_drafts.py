"""A few drafted tokens of the gated delta rule, with the state left as it was.

Speculative decoding (arXiv 2211.17192) checks several guessed tokens in one pass and keeps those that hold. A state
that was overwritten cannot be taken back, so nothing is written until it is known: each program takes its rows of the
state into registers and moves them on there, token by token (`delta_step` has the rule), and keeps what each token
did to them,

    S_t = e^{g_t} S_{t-1} + u_t k_t^T,        so (k_t, u_t, g_t), K + V + 1 numbers instead of K * V.

`delta_fold` replays the accepted ones; a rejected token is one that is not replayed. Because u_t depends on earlier
tokens only, cutting the list short at any place leaves it right. (Checkpoint and journal after ReplaySSM,
dao-lab.ai/blog/ 2026/replayssm; there the journal grows over several passes.) The state is read once for all tokens.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from kernels.triton.delta_gates import gates, unit
from kernels.triton.delta_step import block_v


@triton.jit
def _delta_drafts(
    qkv: tl.tensor,  # [T, 2 * Hk * K + Hv * V]
    a: tl.tensor,  # [T, Hv]
    b: tl.tensor,  # [T, Hv]
    decay_rate: tl.tensor,  # [Hv]
    dt_bias: tl.tensor,  # [Hv]
    states: tl.tensor,  # [slots, Hv, V, K], read only
    bounds: tl.tensor,  # [B + 1]
    slots: tl.tensor,  # [B], negative: a padding row, all of whose results are 0
    out: tl.tensor,  # [T, Hv, V]
    keys: tl.tensor,  # [T, Hk, K], unit length
    writes: tl.tensor,  # [T, Hv, V], the u of every token
    log_decays: tl.tensor,  # [T, Hv]
    qkv_stride: tl.tensor,  # elements from a row to the next
    a_stride: tl.tensor,
    b_stride: tl.tensor,
    n_key_heads: tl.tensor,  # Hk
    n_heads: tl.tensor,  # Hv
    K: tl.constexpr,
    V: tl.constexpr,
    BLOCK_K: tl.constexpr,
    BLOCK_V: tl.constexpr,
) -> None:
    head, sequence = tl.program_id(1), tl.program_id(2)
    ks, vs = tl.arange(0, BLOCK_K), tl.program_id(0) * BLOCK_V + tl.arange(0, BLOCK_V)
    groups = n_heads // n_key_heads
    key_head = head // groups
    slot = tl.load(slots + sequence).to(tl.int64)
    real = slot >= 0
    # A padding row has no components, so its projections count as 0, and so does all that follows from them.
    in_k, in_v = ks < tl.where(real, K, 0), vs < tl.where(real, V, 0)
    state_at = states + ((slot * n_heads + head) * V + vs[:, None]) * K + ks[None, :]
    state = tl.load(state_at, mask=in_v[:, None] & in_k[None, :], other=0.0).to(tl.float32)
    rate, bias = tl.load(decay_rate + head).to(tl.float32), tl.load(dt_bias + head).to(tl.float32)

    for i in range(tl.load(bounds + sequence), tl.load(bounds + sequence + 1)):
        row = tl.cast(i, tl.int64)
        q_at = qkv + row * qkv_stride + key_head * K + ks
        q = unit(tl.load(q_at, mask=in_k, other=0.0).to(tl.float32)) * (K**-0.5)
        k = unit(tl.load(q_at + n_key_heads * K, mask=in_k, other=0.0).to(tl.float32))
        v_at = qkv + row * qkv_stride + 2 * n_key_heads * K + head * V + vs
        v = tl.load(v_at, mask=in_v, other=0.0).to(tl.float32)
        a_here = tl.load(a + row * a_stride + head, mask=real, other=0.0).to(tl.float32)
        b_here = tl.load(b + row * b_stride + head, mask=real, other=0.0).to(tl.float32)
        g, beta = gates(a_here, b_here, rate, bias)

        state *= tl.exp(g)
        u = beta * (v - tl.sum(state * k[None, :], axis=1))
        state += u[:, None] * k[None, :]
        v_out = (row * n_heads + head) * V + vs
        tl.store(out + v_out, tl.sum(state * q[None, :], axis=1), mask=vs < V)
        tl.store(writes + v_out, u, mask=vs < V)
        # One program of all that have this key, or this head, writes it down.
        if tl.program_id(0) == 0:
            tl.store(log_decays + row * n_heads + head, tl.where(real, g, 0.0))
            if head % groups == 0:
                tl.store(keys + (row * n_key_heads + key_head) * K + ks, k, mask=ks < K)


def drafted_delta_rule(
    qkv: Tensor, a: Tensor, b: Tensor, decay_rate: Tensor, dt_bias: Tensor, states: Tensor, bounds: Tensor,
    slots: Tensor, n_key_heads: int,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """See `reference_drafts.drafted_delta_rule`: outputs [T, Hv, V], and the journal k [T, Hk, K], u [T, Hv, V], g
    [T, Hv].
    """
    _, n_heads, value_dim, key_dim = states.shape
    n_tokens = len(qkv)

    def new(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
        return torch.empty(shape, dtype=dtype, device=qkv.device)

    out = new(n_tokens, n_heads, value_dim, dtype=qkv.dtype)
    keys, writes = new(n_tokens, n_key_heads, key_dim), new(n_tokens, n_heads, value_dim)
    log_decays = new(n_tokens, n_heads)
    rows = block_v(len(slots), n_heads, value_dim)
    _delta_drafts[(triton.cdiv(value_dim, rows), n_heads, len(slots))](
        qkv, a, b, decay_rate, dt_bias, states, bounds, slots, out, keys, writes, log_decays,
        qkv.stride(0), a.stride(0), b.stride(0), n_key_heads, n_heads,
        K=key_dim, V=value_dim, BLOCK_K=triton.next_power_of_2(key_dim), BLOCK_V=rows, num_warps=1 if rows == 8 else 4,
    )  # fmt: skip
    return out, keys, writes, log_decays
