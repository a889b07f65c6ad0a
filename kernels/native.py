"""The operations in C++ (`cpp/`), compiled for this processor at first use; signatures are those of `reference`.

A pass over a few tokens is a matter of microseconds a call, so tensors go over as bare addresses. The work is shared
among as many threads as torch is set to use, but by the library's own pool. Since a call is nothing but a function and
an array of words, the calls of a pass can be recorded and replayed as one.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import itertools
import struct
import threading
from collections.abc import Iterator
from ctypes import c_int64, c_void_p
from typing import Any

import torch
from torch import Tensor

from kernels import build, reference

_library = ctypes.CDLL(str(build.library()))


class Recording:
    """The calls of one pass, in order. `replay` makes them again, on whatever the same addresses hold by then."""

    def __init__(self) -> None:
        self._calls: list[tuple[int, int]] = []
        # Addresses mean nothing once their memory is given back.
        self._kept: list[Any] = []
        self._packed: ctypes.Array[c_int64] | None = None

    def add(self, function: ctypes._FuncPointer, words: ctypes.Array[c_int64], tensors: tuple[Tensor, ...]) -> None:
        """Note a call, and keep what its words point to."""
        address = ctypes.cast(function, c_void_p).value
        assert address is not None
        self._calls.append((address, ctypes.addressof(words)))
        self._kept.append((words, tensors))

    def replay(self) -> None:
        """Make all calls again."""
        if self._packed is None:
            self._packed = (c_int64 * (2 * len(self._calls)))(*(word for call in self._calls for word in call))
        _replay(torch.get_num_threads(), self._packed, len(self._calls))


class _OfThread(threading.local):
    recording: Recording | None = None


_of_thread = _OfThread()


@contextlib.contextmanager
def record() -> Iterator[Recording]:
    """Note every call that this thread makes inside the block (and make it). One recording at a time."""
    _of_thread.recording = recording = Recording()
    try:
        yield recording
    finally:
        _of_thread.recording = None


def norm_linear(x: Tensor, scale: Tensor, eps: float, weight: Tensor) -> Tensor:
    """See `reference.norm_linear`."""
    tokens, width = x.shape
    n_out = weight.shape[0]
    out = torch.empty(tokens, n_out)
    _call(_norm_linear[weight.dtype], (out, x, scale), _bits(eps), (weight,), (tokens, width, n_out))
    return out


def linear_add(out: Tensor, x: Tensor, weight: Tensor) -> None:
    """See `reference.linear_add`."""
    tokens, width = x.shape
    _call(_linear_add[weight.dtype], (out, x, weight), None, (), (tokens, width, weight.shape[0]))


def swiglu_linear_add(out: Tensor, gate_up: Tensor, weight: Tensor) -> None:
    """See `reference.swiglu_linear_add`."""
    n_out, width = weight.shape
    _call(_swiglu_linear_add[weight.dtype], (out, gate_up, weight), None, (), (gate_up.shape[0], width, n_out))


def gated_delta_net(
    projected: Tensor, taps: Tensor, decay_rate: Tensor, dt_bias: Tensor, norm_weight: Tensor, eps: float,
    windows: Tensor, states: Tensor, bounds: Tensor, slots: Tensor,
) -> Tensor:  # fmt: skip
    """See `reference.gated_delta_net`."""
    tokens = projected.shape[0]
    _, n_heads, value_dim, key_dim = states.shape
    n_taps, channels = taps.shape
    key_heads = (channels - n_heads * value_dim) // (2 * key_dim)
    out = torch.empty(tokens, n_heads * value_dim)
    _call(
        _gated_delta_net,
        (out, projected, taps, decay_rate, dt_bias, norm_weight), _bits(eps), (windows, states, bounds, slots),
        (slots.shape[0], tokens, key_heads, n_heads, key_dim, value_dim, n_taps),
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
    _call(
        _gated_attention[keys.dtype],
        (out, projected, q_scale, k_scale), _bits(eps),
        (rotary, keys, values, positions, kv_rows, page_tables, bounds),
        (sequences, tokens, n_heads, n_kv_heads, dim, rotary.shape[1], n_pages, page_size, table_width),
    )  # fmt: skip
    return out


def _call(
    function: ctypes._FuncPointer,
    first: tuple[Tensor, ...],
    eps: int | None,
    rest: tuple[Tensor, ...],
    sizes: tuple[int, ...],
) -> None:
    """Words: addresses, then eps where there is one, more addresses, sizes."""
    words = [tensor.data_ptr() for tensor in first]
    if eps is not None:
        words.append(eps)
        words += [tensor.data_ptr() for tensor in rest]
    words += sizes
    packed = (c_int64 * len(words))(*words)
    assert all(tensor.is_contiguous() for tensor in first), "the C++ operations take contiguous tensors"
    function(torch.get_num_threads(), packed)
    if _of_thread.recording is not None:
        _of_thread.recording.add(function, packed, first + rest)


@functools.lru_cache
def _bits(x: float) -> int:
    """The bits of a double as a whole number."""
    (bits,) = struct.unpack("q", struct.pack("d", x))
    return int(bits)


def _function(name: str) -> ctypes._FuncPointer:
    function = getattr(_library, name)
    function.argtypes, function.restype = [c_int64, c_void_p], None
    return function


def _by_dtype(name: str) -> dict[torch.dtype, ctypes._FuncPointer]:
    return {torch.float32: _function(f"{name}_f32"), torch.bfloat16: _function(f"{name}_bf16")}


_norm_linear = _by_dtype("norm_linear")
_linear_add = _by_dtype("linear_add")
_swiglu_linear_add = _by_dtype("swiglu_linear_add")
_gated_delta_net = _function("gated_delta_net")
_gated_attention = _by_dtype("gated_attention")
_replay = _library.replay
_replay.argtypes, _replay.restype = [c_int64, c_void_p, c_int64], None


def _check() -> None:
    """Compare a few products: a compiler that gets the vector types wrong would make the model talk nonsense."""
    generator = torch.Generator().manual_seed(0)
    for tokens, dtype in itertools.product((3, 40), _swiglu_linear_add):
        gate_up = torch.randn(tokens, 140, generator=generator)
        weight = torch.randn(50, 70, generator=generator).to(dtype)
        ours, expected = torch.zeros(tokens, 50), torch.zeros(tokens, 50)
        swiglu_linear_add(ours, gate_up, weight)
        reference.swiglu_linear_add(expected, gate_up, weight)
        if not torch.allclose(ours, expected, rtol=1e-3, atol=1e-3):
            raise ImportError("the compiled C++ operations compute wrongly here")


_check()
