"""The operations on a GPU: Triton kernels (`kernels.triton`), and the vendor's library for products with weights.

Import this only where Triton runs: on a GPU, or under its interpreter. Signatures and meanings are those of
`reference`.

Where a pass has one token a sequence, the convolution, the delta rule and attention take their decode forms. That is
read off the shapes, and changes nothing but time. A batch may be padded to a fixed size, for a CUDA graph: sequences
of one token with a state slot of -1, a page table of -1s, position 0 and KV row -1 read and write no memory of
anyone's, and come out finite.

What the kernels expect: the last dimension of every tensor contiguous, rows anywhere (a slice of a wider matrix is
fine), at least one token a sequence, states in float32. Activations may be float32, float16 or bfloat16. Forward
only.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import Tensor

from kernels.quantized_rows import QuantizedRows
from kernels.reference_drafts import Journal
from kernels.triton.attention_decode import attention_decode
from kernels.triton.attention_prefill import attention_prefill
from kernels.triton.causal_conv import causal_conv, drafted_causal_conv
from kernels.triton.conv_window import fold_windows
from kernels.triton.delta_chunks import chunked_delta_rule
from kernels.triton.delta_drafts import drafted_delta_rule
from kernels.triton.delta_fold import fold
from kernels.triton.delta_step import delta_step
from kernels.triton.gated_rms_norm import gated_rms_norm
from kernels.triton.int4_linear import int4_linear
from kernels.triton.int8_linear import int8_linear
from kernels.triton.rms_norm import add_rms_norm, rms_norm
from kernels.triton.rotate_and_store import rotate_and_store
from kernels.triton.swiglu import swiglu
from kernels.weight import Weight

__all__ = [
    "add_rms_norm",
    "attention",
    "causal_conv",
    "drafted_causal_conv",
    "drafted_delta_rule",
    "drafted_gated_delta_net",
    "embedding",
    "fold",
    "fold_drafts",
    "fold_windows",
    "gated_attention",
    "gated_delta_net",
    "gated_delta_rule",
    "gated_rms_norm",
    "int4_linear",
    "int8_linear",
    "linear_add",
    "norm_linear",
    "paged_attention",
    "record",
    "rms_norm",
    "rotate_and_store",
    "swiglu",
    "swiglu_linear_add",
]

FEW_TOKENS = 32
"""So many tokens are multiplied with a quantized weight as it is. Eight share a reading of it, so 32 read it four
times; to write it out as a matrix first takes, of 4 bits, 0.56, 2 and 2 bytes against these four times 0.56.
"""

# ------------------------------------------------------------------------------------------------------- pieces


def gated_delta_rule(
    qkv: Tensor, a: Tensor, b: Tensor, decay_rate: Tensor, dt_bias: Tensor, states: Tensor, bounds: Tensor,
    slots: Tensor, n_key_heads: int,
) -> Tensor:  # fmt: skip
    """See `reference.gated_delta_rule`: [T, 2 Hk K + Hv V] -> [T, Hv, V]; states are replaced."""
    if len(qkv) == len(slots):
        return delta_step(qkv, a, b, decay_rate, dt_bias, states, slots, n_key_heads)
    return chunked_delta_rule(qkv, a, b, decay_rate, dt_bias, states, bounds, slots, n_key_heads)


def paged_attention(
    q: Tensor, gate: Tensor | None, keys: Tensor, values: Tensor, page_tables: Tensor, positions: Tensor, bounds: Tensor
) -> Tensor:
    """See `reference.paged_attention`: q [T, Hq, D], gate [T, Hq * D] -> [T, Hq * D]; no gate, `reference.attend`."""
    if len(q) == len(page_tables):
        return attention_decode(q, gate, keys, values, page_tables, positions)
    return attention_prefill(q, gate, keys, values, page_tables, positions, bounds)


# --------------------------------------------------------------------------------------------------- operations


def embedding(ids: Tensor, table: Weight) -> Tensor:
    """See `reference.embedding`."""
    return table[ids].float()


def norm_linear(x: Tensor, scale: Tensor, eps: float, weight: Weight) -> Tensor:
    """See `reference.norm_linear`. The product is in the weight's dtype, its result in that of x."""
    return _product(rms_norm(x, scale, eps, dtype=_dtype(x, weight)), weight).to(x.dtype)


def linear_add(out: Tensor, x: Tensor, weight: Weight) -> None:
    """See `reference.linear_add`. The product is in the weight's dtype, the sum in that of out."""
    out += _product(x.to(_dtype(x, weight)), weight)


def swiglu_linear_add(out: Tensor, gate_up: Tensor, weight: Weight) -> None:
    """See `reference.swiglu_linear_add`, and `linear_add` for the dtypes."""
    out += _product(swiglu(gate_up, dtype=_dtype(gate_up, weight)), weight)


quantized = QuantizedRows.pack
"""A weight in fewer bits as these products read it; `dispatch.quantized` finds it here."""


def _dtype(x: Tensor, weight: Weight) -> torch.dtype:
    """What a weight's factor is kept in: a plain weight's own dtype. Quantized ones become float32 in registers."""
    return weight.dtype if isinstance(weight, Tensor) else x.dtype


def _product(x: Tensor, weight: Weight) -> Tensor:
    """X [T, I] times the transposed weight [O, I]: [T, O]. Many tokens meet a quantized weight as a bfloat16 matrix."""
    if isinstance(weight, Tensor):
        return F.linear(x, weight)
    assert isinstance(weight, QuantizedRows)
    if len(x) > FEW_TOKENS:
        return F.linear(x.to(torch.bfloat16), weight.to(torch.bfloat16)).to(x.dtype)
    if weight.zero is None:
        return int8_linear(x, weight.numbers, weight.scale)
    return int4_linear(x, weight.numbers, weight.scale, weight.zero)


def gated_delta_net(
    projected: Tensor, taps: Tensor, decay_rate: Tensor, dt_bias: Tensor, norm_weight: Tensor, eps: float,
    windows: Tensor, states: Tensor, bounds: Tensor, slots: Tensor,
) -> Tensor:  # fmt: skip
    """See `reference.gated_delta_net`."""
    _, n_heads, value_dim, key_dim = states.shape
    qkv, z, b, a = projected.split([taps.shape[1], n_heads * value_dim, n_heads, n_heads], dim=1)
    n_key_heads = (qkv.shape[1] - z.shape[1]) // (2 * key_dim)
    qkv = causal_conv(qkv, taps, windows, bounds, slots)
    heads = gated_delta_rule(qkv, a, b, decay_rate, dt_bias, states, bounds, slots, n_key_heads)
    return gated_rms_norm(heads, z, norm_weight, eps)


def drafted_gated_delta_net(
    projected: Tensor, taps: Tensor, decay_rate: Tensor, dt_bias: Tensor, norm_weight: Tensor, eps: float,
    windows: Tensor, states: Tensor, bounds: Tensor, slots: Tensor, drafted: Tensor,
) -> tuple[Tensor, Journal]:  # fmt: skip
    """See `reference.drafted_gated_delta_net`."""
    _, n_heads, value_dim, key_dim = states.shape
    inputs, z, b, a = projected.split([taps.shape[1], n_heads * value_dim, n_heads, n_heads], dim=1)
    n_key_heads = (inputs.shape[1] - z.shape[1]) // (2 * key_dim)
    qkv = drafted_causal_conv(inputs, taps, windows, bounds, slots)
    heads, keys, writes, g = drafted_delta_rule(qkv, a, b, decay_rate, dt_bias, states, bounds, slots, n_key_heads)
    journal = Journal(keys, writes, g, inputs)
    fold_drafts(journal, windows, states, bounds, slots, bounds.diff().where(drafted == 0, -1))
    return gated_rms_norm(heads, z, norm_weight, eps), journal


def fold_drafts(
    journal: Journal, windows: Tensor, states: Tensor, bounds: Tensor, slots: Tensor, accepted: Tensor
) -> None:
    """See `reference.fold_drafts`."""
    count = accepted.clamp(min=0)
    fold(journal.keys, journal.writes, journal.log_decays, states, bounds, slots, count)
    fold_windows(journal.inputs, windows, bounds, slots, count)


def gated_attention(
    projected: Tensor, q_scale: Tensor, k_scale: Tensor, eps: float, rotary: Tensor, keys: Tensor, values: Tensor,
    positions: Tensor, kv_rows: Tensor, page_tables: Tensor, bounds: Tensor,
) -> Tensor:  # fmt: skip
    """See `reference.gated_attention`."""
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
    """See `reference.attention`."""
    n_kv_heads, _, _, dim = keys.shape
    kv_width = n_kv_heads * dim
    q, k, v = projected.split([projected.shape[1] - 2 * kv_width, kv_width, kv_width], dim=1)
    q = rotate_and_store(q, k, v, None, None, 0.0, positions, rotary, keys, values, kv_rows)
    return paged_attention(q, None, keys, values, page_tables, positions, bounds)


# -------------------------------------------------------------------------------------------------- recording


class Buffers:
    """Nothing of ours: a graph brings its own memory."""


class Recording:
    """A pass as a CUDA graph: its launches, noted while nothing was computed, and made again as one."""

    def __init__(self) -> None:
        self.graph = torch.cuda.CUDAGraph()

    def replay(self) -> None:
        """Make all launches, on whatever the same addresses hold by then."""
        self.graph.replay()


@contextlib.contextmanager
def record(_buffers: Buffers) -> Iterator[Recording]:
    """Note every launch inside the block. None may be the first of its kernel: compiling cannot be noted."""
    recording = Recording()
    with torch.cuda.graph(recording.graph):
        yield recording
