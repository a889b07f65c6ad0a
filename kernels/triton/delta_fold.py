"""Fold the accepted tokens of a drafted pass into the state.

    S <- e^{g_t} S + u_t k_t^T        for the first n tokens of each sequence

`delta_drafts` left the state as it was and kept (k_t, u_t, g_t). This replays them, operation for operation what
`delta_step` does to the state: a sum in another order would drift from the undrafted run over thousands of tokens.
"""

import triton
import triton.language as tl
from torch import Tensor

from kernels.triton.delta_step import block_v


@triton.jit
def _delta_fold(
    keys: tl.tensor,  # [T, Hk, K]
    writes: tl.tensor,  # [T, Hv, V]
    log_decays: tl.tensor,  # [T, Hv]
    states: tl.tensor,  # [slots, Hv, V, K], replaced in place
    bounds: tl.tensor,  # [B + 1]
    slots: tl.tensor,  # [B], negative: a padding row
    accepted: tl.tensor,  # [B] of each sequence's rows, how many hold
    n_key_heads: tl.tensor,  # Hk
    n_heads: tl.tensor,  # Hv
    K: tl.constexpr,
    V: tl.constexpr,
    BLOCK_K: tl.constexpr,
    BLOCK_V: tl.constexpr,
) -> None:
    head, sequence = tl.program_id(1), tl.program_id(2)
    slot = tl.load(slots + sequence).to(tl.int64)
    n_accepted = tl.load(accepted + sequence)
    if (slot < 0) | (n_accepted <= 0):
        return
    ks, vs = tl.arange(0, BLOCK_K), tl.program_id(0) * BLOCK_V + tl.arange(0, BLOCK_V)
    inside = (vs < V)[:, None] & (ks < K)[None, :]
    key_head = head // (n_heads // n_key_heads)
    state_at = states + ((slot * n_heads + head) * V + vs[:, None]) * K + ks[None, :]
    state = tl.load(state_at, mask=inside, other=0.0).to(tl.float32)
    first = tl.load(bounds + sequence)
    for i in range(first, first + n_accepted):
        row = tl.cast(i, tl.int64)
        k = tl.load(keys + (row * n_key_heads + key_head) * K + ks, mask=ks < K, other=0.0).to(tl.float32)
        u = tl.load(writes + (row * n_heads + head) * V + vs, mask=vs < V, other=0.0).to(tl.float32)
        state *= tl.exp(tl.load(log_decays + row * n_heads + head).to(tl.float32))
        state += u[:, None] * k[None, :]
    tl.store(state_at, state, mask=inside)


def fold(
    keys: Tensor, writes: Tensor, log_decays: Tensor, states: Tensor, bounds: Tensor, slots: Tensor, accepted: Tensor
) -> None:
    """See `reference_drafts.fold`: states [slots, Hv, V, K] take in each sequence's first `accepted` [B] tokens."""
    _, n_heads, value_dim, key_dim = states.shape
    rows = block_v(len(slots), n_heads, value_dim)
    _delta_fold[(triton.cdiv(value_dim, rows), n_heads, len(slots))](
        keys, writes, log_decays, states, bounds, slots, accepted, keys.shape[1], n_heads,
        K=key_dim, V=value_dim, BLOCK_K=triton.next_power_of_2(key_dim), BLOCK_V=rows, num_warps=1 if rows == 8 else 4,
    )  # fmt: skip
