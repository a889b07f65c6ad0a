"""The operations in C++ (`cpp/`), compiled for this processor at first use; signatures are those of `reference`.

A pass over a few tokens is a matter of microseconds a call, so tensors go over as bare addresses. The work is shared
among as many threads as torch is set to use, but by the library's own pool.
"""

from __future__ import annotations

import ctypes
import functools
from ctypes import c_float, c_int64, c_void_p

import torch
from torch import Tensor

from kernels import build

_library = ctypes.CDLL(str(build.library()))


def _function(name: str, n_before: int, n_after: int = 0, *, sizes: int = 0) -> ctypes._FuncPointer:
    """threads, `n_before` addresses, and where there is an eps: it, `n_after` addresses; then `sizes` integers."""
    function = getattr(_library, name)
    eps = [c_float] if n_after else []
    function.argtypes = [c_int64, *[c_void_p] * n_before, *eps, *[c_void_p] * n_after, *[c_int64] * sizes]
    function.restype = None
    return function


def _by_dtype(name: str, *args: int, **kwargs: int) -> dict[torch.dtype, ctypes._FuncPointer]:
    suffixes = {torch.float32: "f32", torch.bfloat16: "bf16"}
    return {dtype: _function(f"{name}_{suffix}", *args, **kwargs) for dtype, suffix in suffixes.items()}


_norm_linear = _by_dtype("norm_linear", 3, 1, sizes=3)
_linear_add = _by_dtype("linear_add", 3, sizes=3)
_swiglu_linear_add = _by_dtype("swiglu_linear_add", 3, sizes=3)
_gated_delta_net = _function("gated_delta_net", 6, 5)
_gated_attention = _by_dtype("gated_attention", 4, 8)


def norm_linear(x: Tensor, scale: Tensor, eps: float, weight: Tensor) -> Tensor:
    """See `reference.norm_linear`."""
    tokens, width = x.shape
    n_out = weight.shape[0]
    out = torch.empty(tokens, n_out)
    _norm_linear[weight.dtype](
        torch.get_num_threads(), out.data_ptr(), _at(x), scale.data_ptr(), eps, weight.data_ptr(), tokens, width, n_out
    )
    return out


def linear_add(out: Tensor, x: Tensor, weight: Tensor) -> None:
    """See `reference.linear_add`."""
    tokens, width = x.shape
    _linear_add[weight.dtype](
        torch.get_num_threads(), _at(out), _at(x), weight.data_ptr(), tokens, width, weight.shape[0]
    )


def swiglu_linear_add(out: Tensor, gate_up: Tensor, weight: Tensor) -> None:
    """See `reference.swiglu_linear_add`."""
    tokens = gate_up.shape[0]
    n_out, width = weight.shape
    _swiglu_linear_add[weight.dtype](
        torch.get_num_threads(), _at(out), _at(gate_up), weight.data_ptr(), tokens, width, n_out
    )


def gated_delta_net(
    projected: Tensor, taps: Tensor, decay_rate: Tensor, dt_bias: Tensor, norm_weight: Tensor, eps: float,
    windows: Tensor, states: Tensor, bounds: Tensor, slots: Tensor,
) -> Tensor:  # fmt: skip
    """See `reference.gated_delta_net`."""
    tokens = projected.shape[0]
    _, n_heads, value_dim, key_dim = states.shape
    key_heads = (taps.shape[1] - n_heads * value_dim) // (2 * key_dim)
    out = torch.empty(tokens, n_heads * value_dim)
    _gated_delta_net(
        torch.get_num_threads(), out.data_ptr(), _at(projected), taps.data_ptr(), decay_rate.data_ptr(),
        dt_bias.data_ptr(), norm_weight.data_ptr(), eps, _at(windows), _at(states), bounds.data_ptr(),
        slots.data_ptr(), _integers(slots.shape[0], tokens, key_heads, n_heads, key_dim, value_dim, taps.shape[0]),
    )  # fmt: skip
    return out


def gated_attention(
    projected: Tensor, q_scale: Tensor, k_scale: Tensor, eps: float, rotary: Tensor,
    keys: Tensor, values: Tensor, positions: Tensor, kv_rows: Tensor, page_tables: Tensor, bounds: Tensor,
) -> Tensor:  # fmt: skip
    """See `reference.gated_attention`."""
    tokens, projected_width = projected.shape
    n_kv_heads, n_pages, page_size, dim = keys.shape
    n_heads = projected_width // (2 * dim) - n_kv_heads
    sequences, table_width = page_tables.shape
    out = torch.empty(tokens, n_heads * dim)
    _gated_attention[keys.dtype](
        torch.get_num_threads(), out.data_ptr(), _at(projected), q_scale.data_ptr(), k_scale.data_ptr(), eps,
        rotary.data_ptr(), _at(keys), _at(values), positions.data_ptr(), kv_rows.data_ptr(), page_tables.data_ptr(),
        bounds.data_ptr(), _integers(sequences, tokens, n_heads, n_kv_heads, dim, rotary.shape[1], n_pages, page_size,
        table_width),
    )  # fmt: skip
    return out


def _at(x: Tensor) -> int:
    """Address of a tensor that C++ walks through row by row."""
    assert x.is_contiguous(), "the C++ operations take contiguous tensors"
    return x.data_ptr()


@functools.lru_cache(maxsize=4096)
def _integers(*values: int) -> ctypes.Array[c_int64]:
    return (c_int64 * len(values))(*values)
