"""One token of the gated delta rule (arXiv 2412.06464) for each sequence, in one launch: the decode step.

A head's state S [V, K] is an associative memory: S k is what it holds for key k. A token lets it fade, corrects what
it holds for the token's key towards the token's value, and reads at the token's query:

    S <- e^g S          decay
    u  = beta (v - S k) what is missing under this key, times the write strength
    S <- S + u k^T      write
    o  = S q            read

The state is the whole traffic: K * V numbers in and out, against 2 K + 2 V of the token, for 6 K V operations. So it
must pass through the chip once. The rows of S know nothing of each other (each is one component of the values), so a
program takes BLOCK_V of them, has them in registers from the load to the store, and does everything else there, too:
split the convolved projection, make unit vectors, compute the gates. A row lies K
numbers together, and both products run along it.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from kernels.triton.delta_gates import gates, unit


@triton.jit
def _delta_step(
    qkv: tl.tensor,  # [B, 2 * Hk * K + Hv * V]: queries, keys and values side by side
    a: tl.tensor,  # [B, Hv]
    b: tl.tensor,  # [B, Hv]
    decay_rate: tl.tensor,  # [Hv]
    dt_bias: tl.tensor,  # [Hv]
    states: tl.tensor,  # [slots, Hv, V, K] float32, replaced in place
    slots: tl.tensor,  # [B], negative: a padding row, which touches no state and reads as 0
    out: tl.tensor,  # [B, Hv, V]
    qkv_stride: tl.tensor,  # elements from a row to the next
    a_stride: tl.tensor,
    b_stride: tl.tensor,
    n_key_heads: tl.tensor,  # Hk
    n_heads: tl.tensor,  # Hv
    K: tl.constexpr,
    V: tl.constexpr,
    BLOCK_K: tl.constexpr,  # at least K
    BLOCK_V: tl.constexpr,
) -> None:
    head, row = tl.program_id(1), tl.program_id(2).to(tl.int64)
    ks, vs = tl.arange(0, BLOCK_K), tl.program_id(0) * BLOCK_V + tl.arange(0, BLOCK_V)
    out_at = out + (row * n_heads + head) * V + vs
    slot = tl.load(slots + row).to(tl.int64)
    if slot < 0:
        tl.store(out_at, tl.zeros([BLOCK_V], tl.float32), mask=vs < V)
        return

    key_head = head // (n_heads // n_key_heads)
    q_at = qkv + row * qkv_stride + key_head * K + ks
    q = unit(tl.load(q_at, mask=ks < K, other=0.0).to(tl.float32)) * (K**-0.5)
    k = unit(tl.load(q_at + n_key_heads * K, mask=ks < K, other=0.0).to(tl.float32))
    v_at = qkv + row * qkv_stride + 2 * n_key_heads * K + head * V + vs
    v = tl.load(v_at, mask=vs < V, other=0.0).to(tl.float32)
    g, beta = gates(
        tl.load(a + row * a_stride + head).to(tl.float32), tl.load(b + row * b_stride + head).to(tl.float32),
        tl.load(decay_rate + head).to(tl.float32), tl.load(dt_bias + head).to(tl.float32),
    )  # fmt: skip

    state_at = states + ((slot * n_heads + head) * V + vs[:, None]) * K + ks[None, :]
    inside = (vs < V)[:, None] & (ks < K)[None, :]
    state = tl.load(state_at, mask=inside, other=0.0).to(tl.float32) * tl.exp(g)
    u = beta * (v - tl.sum(state * k[None, :], axis=1))
    state += u[:, None] * k[None, :]
    tl.store(out_at, tl.sum(state * q[None, :], axis=1), mask=vs < V)
    tl.store(state_at, state, mask=inside)


def block_v(n_sequences: int, n_heads: int, value_dim: int) -> int:
    """Rows of the state for a program: few when there are few states, so that every multiprocessor has programs."""
    rows = 8 if n_sequences * n_heads * triton.cdiv(value_dim, 32) < 1024 else 32
    return min(rows, triton.next_power_of_2(value_dim))


def delta_step(
    qkv: Tensor, a: Tensor, b: Tensor, decay_rate: Tensor, dt_bias: Tensor, states: Tensor, slots: Tensor,
    n_key_heads: int,
) -> Tensor:  # fmt: skip
    """`reference.gated_delta_rule` for one token a sequence: [B, 2 Hk K + Hv V] -> [B, Hv, V]; states are replaced."""
    _, n_heads, value_dim, key_dim = states.shape
    out = torch.empty((len(slots), n_heads, value_dim), dtype=qkv.dtype, device=qkv.device)
    rows = block_v(len(slots), n_heads, value_dim)
    _delta_step[(triton.cdiv(value_dim, rows), n_heads, len(slots))](
        qkv, a, b, decay_rate, dt_bias, states, slots, out, qkv.stride(0), a.stride(0), b.stride(0),
        n_key_heads, n_heads,
        K=key_dim, V=value_dim, BLOCK_K=triton.next_power_of_2(key_dim), BLOCK_V=rows, num_warps=1 if rows == 8 else 4,
    )  # fmt: skip
    return out
