"""The operations of `kernels.reference` on a GPU, written in Triton: the same names, the same arguments, one kernel a file.

Import this where Triton runs only: on a GPU, or anywhere under its interpreter (TRITON_INTERPRET=1 before Triton is imported).
Matrix products with unquantized weights are not here: the vendor's library does those (`kernels.cublas`).

Where a pass has one token a sequence, the convolution, the delta rule and attention take their decode forms. That is read off
the shapes, and changes nothing but time. A batch may be padded to a fixed size: sequences of one token with a state slot of
-1, a page table of -1s, position 0 and the KV row -1 read and write no memory of anyone's, and come out finite.

What these expect: the last dimension of every tensor contiguous, rows anywhere (a slice of a wider matrix is fine); at least
one token a sequence; states in float32. They are forward only.
"""

from torch import Tensor

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

__all__ = [
    "add_rms_norm",
    "causal_conv",
    "drafted_causal_conv",
    "drafted_delta_rule",
    "fold",
    "fold_windows",
    "gated_delta_rule",
    "gated_rms_norm",
    "int4_linear",
    "int8_linear",
    "paged_attention",
    "rms_norm",
    "rotate_and_store",
    "swiglu",
]


def gated_delta_rule(
    qkv: Tensor, a: Tensor, b: Tensor, decay_rate: Tensor, dt_bias: Tensor, states: Tensor, bounds: Tensor, slots: Tensor,
    n_key_heads: int,
) -> Tensor:  # fmt: skip
    """See `reference.gated_delta_rule`: [T, 2 Hk K + Hv V] -> [T, Hv, V]; states are replaced."""
    if len(qkv) == len(slots):
        return delta_step(qkv, a, b, decay_rate, dt_bias, states, slots, n_key_heads)
    return chunked_delta_rule(qkv, a, b, decay_rate, dt_bias, states, bounds, slots, n_key_heads)


def paged_attention(
    q: Tensor, gate: Tensor, keys: Tensor, values: Tensor, page_tables: Tensor, positions: Tensor, bounds: Tensor
) -> Tensor:
    """See `reference.paged_attention`: q [T, Hq, D], gate [T, Hq * D] -> [T, Hq * D]."""
    if len(q) == len(page_tables):
        return attention_decode(q, gate, keys, values, page_tables, positions)
    return attention_prefill(q, gate, keys, values, page_tables, positions, bounds)
