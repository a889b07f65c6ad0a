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
import weakref
from collections.abc import Iterator
from ctypes import c_int64, c_void_p
from typing import Any, TypeGuard

import torch
from torch import Tensor

from kernels import bf16_products, build, reference
from kernels.panels import PanelMatrix
from kernels.quantized import PackedMatrix
from kernels.reference_drafts import Journal
from kernels.weight import Weight

_library = ctypes.CDLL(str(build.library()))


class Buffers:
    """Room for what the operations inside recordings return: a few tensors, each used again once nobody holds it.

    So a pass writes to the same few places of the cache all along, and a model's recordings, of which one at a time is
    replayed, take no more room than the largest.
    """

    def __init__(self) -> None:
        self._blocks: list[tuple[Tensor, weakref.ref[Tensor]]] = []

    def take(self, rows: int, width: int) -> Tensor:
        """A tensor [rows, width] of the smallest block that is free and large enough, or of a new one."""
        size = rows * width
        free = [(block.numel(), i) for i, (block, user) in enumerate(self._blocks) if user() is None]
        _, at = min((one for one in free if one[0] >= size), default=(size, len(self._blocks)))
        block = self._blocks.pop(at)[0] if at < len(self._blocks) else torch.empty(size)
        tensor = block[:size].view(rows, width)
        self._blocks.append((block, weakref.ref(tensor)))
        return tensor

    def own(self, tensor: Tensor) -> bool:
        """Whether the tensor lies in one of the blocks."""
        return any(block.data_ptr() == tensor.data_ptr() for block, _ in self._blocks)


class Recording:
    """The calls of one pass, in order. `replay` makes them again, on whatever the same addresses hold by then."""

    def __init__(self, buffers: Buffers) -> None:
        self.buffers = buffers
        self._calls: list[tuple[int, int]] = []
        # Addresses mean nothing once their memory is given back.
        self._kept: list[Any] = []
        self._packed: ctypes.Array[c_int64] | None = None

    def add(self, function: ctypes._FuncPointer, words: ctypes.Array[c_int64], tensors: tuple[Tensor, ...]) -> None:
        """Note a call, and keep what its words point to."""
        address = ctypes.cast(function, c_void_p).value
        assert address is not None
        self._calls.append((address, ctypes.addressof(words)))
        self._kept.append((words, [tensor for tensor in tensors if not self.buffers.own(tensor)]))

    def replay(self) -> None:
        """Make all calls again."""
        if self._packed is None:
            self._packed = (c_int64 * (2 * len(self._calls)))(*(word for call in self._calls for word in call))
        _replay(torch.get_num_threads(), self._packed, len(self._calls))


class _OfThread(threading.local):
    recording: Recording | None = None


_of_thread = _OfThread()


@contextlib.contextmanager
def record(buffers: Buffers) -> Iterator[Recording]:
    """Note every call that this thread makes inside the block (and make it). One recording at a time.

    What the calls return lies in the buffers: the next recording or replay that uses them may write over it.
    """
    _of_thread.recording = recording = Recording(buffers)
    try:
        yield recording
    finally:
        _of_thread.recording = None


def arranged(weight: Tensor) -> Weight:
    """The weight in the order that the products read fastest, or as it is where `bf16_products` may come to need it."""
    if _multiplies_bf16 and weight.dtype == torch.bfloat16:
        return weight
    return PanelMatrix.pack(weight, _library.panel_rows())


def embedding(ids: Tensor, table: Weight) -> Tensor:
    """See `reference.embedding`. Raises IndexError for an id that the table has no row for."""
    n_rows, width = table.shape
    numbers = ids.numpy()  # whose least and largest cost a tenth of what torch asks for them
    if len(ids) and not 0 <= numbers.min() <= numbers.max() < n_rows:
        raise IndexError(f"token ids from {numbers.min()} to {numbers.max()} for a table of {n_rows} rows")
    out = torch.empty(len(ids), width)
    function, stored, group = _for_weight(_embedding, table)
    _call(function, (out, ids, stored), None, (), (len(ids), width, n_rows, *group))
    return out


def norm_linear(x: Tensor, scale: Tensor, eps: float, weight: Weight) -> Tensor:
    """See `reference.norm_linear`. A quantized weight meets activations that are quantized, too: see `quantized`."""
    if _for_library(weight, x):
        return bf16_products.norm_linear(x, scale, eps, weight)
    n_out, width = weight.shape
    out = _empty(x.shape[0], n_out)
    function, stored, group = _for_weight(_norm_linear, weight)
    _call(function, (out, x, scale), _bits(eps), (stored,), (x.shape[0], width, n_out, *group))
    return out


def linear_add(out: Tensor, x: Tensor, weight: Weight) -> None:
    """See `reference.linear_add`, and `norm_linear`."""
    if _for_library(weight, x):
        bf16_products.linear_add(out, x, weight)
        return
    n_out, width = weight.shape
    function, stored, group = _for_weight(_linear_add, weight)
    _call(function, (out, x, stored), None, (), (x.shape[0], width, n_out, *group))


def swiglu_linear_add(out: Tensor, gate_up: Tensor, weight: Weight) -> None:
    """See `reference.swiglu_linear_add`, and `norm_linear`."""
    if _for_library(weight, gate_up):
        bf16_products.swiglu_linear_add(out, gate_up, weight)
        return
    n_out, width = weight.shape
    function, stored, group = _for_weight(_swiglu_linear_add, weight)
    _call(function, (out, gate_up, stored), None, (), (gate_up.shape[0], width, n_out, *group))


def _empty(rows: int, width: int) -> Tensor:
    """Room for a result [rows, width]."""
    recording = _of_thread.recording
    return torch.empty(rows, width) if recording is None else recording.buffers.take(rows, width)


def _for_library(weight: Weight, x: Tensor) -> TypeGuard[Tensor]:
    """Whether `bf16_products` takes the product; never one that is recorded, for its calls could not be replayed."""
    return _multiplies_bf16 and _of_thread.recording is None and bf16_products.fit(x.shape[0], weight)


def _for_weight(
    functions: dict[Any, ctypes._FuncPointer], weight: Weight
) -> tuple[ctypes._FuncPointer, Tensor, tuple[int, ...]]:
    """The function for what the weight is stored as, where it lies, and the size that only a quantized one has."""
    if isinstance(weight, PackedMatrix):
        return functions[weight.bits], weight.data, (weight.group,)
    if isinstance(weight, PanelMatrix):
        return functions["panels", weight.dtype], weight.data, ()
    assert isinstance(weight, Tensor), "QuantizedRows are for a GPU"
    return functions[weight.dtype], weight, ()


def gated_delta_net(
    projected: Tensor, taps: Tensor, decay_rate: Tensor, dt_bias: Tensor, norm_weight: Tensor, eps: float,
    windows: Tensor, states: Tensor, bounds: Tensor, slots: Tensor,
) -> Tensor:  # fmt: skip
    """See `reference.gated_delta_net`."""
    tokens = projected.shape[0]
    _, n_heads, value_dim, key_dim = states.shape
    n_taps, channels = taps.shape
    key_heads = (channels - n_heads * value_dim) // (2 * key_dim)
    out = _empty(tokens, n_heads * value_dim)
    _call(
        _gated_delta_net,
        (out, projected, taps, decay_rate, dt_bias, norm_weight), _bits(eps), (windows, states, bounds, slots),
        (slots.shape[0], tokens, key_heads, n_heads, key_dim, value_dim, n_taps),
    )  # fmt: skip
    return out


def drafted_gated_delta_net(
    projected: Tensor, taps: Tensor, decay_rate: Tensor, dt_bias: Tensor, norm_weight: Tensor, eps: float,
    windows: Tensor, states: Tensor, bounds: Tensor, slots: Tensor, drafted: Tensor,
) -> tuple[Tensor, Journal]:  # fmt: skip
    """See `reference.drafted_gated_delta_net`. The journal's rows of sequences that are not drafted hold nothing."""
    tokens = projected.shape[0]
    _, n_heads, value_dim, key_dim = states.shape
    n_taps, channels = taps.shape
    key_heads = (channels - n_heads * value_dim) // (2 * key_dim)
    out = _empty(tokens, n_heads * value_dim)
    journal = Journal(
        torch.empty(tokens, key_heads, key_dim), torch.empty(tokens, n_heads, value_dim),
        torch.empty(tokens, n_heads), torch.empty(tokens, channels),
    )  # fmt: skip
    _call(
        _drafted_gated_delta_net,
        (out, projected, taps, decay_rate, dt_bias, norm_weight), _bits(eps),
        (windows, states, bounds, slots, drafted, *journal),
        (slots.shape[0], tokens, key_heads, n_heads, key_dim, value_dim, n_taps),
    )  # fmt: skip
    return out, journal


def fold_drafts(
    journal: Journal, windows: Tensor, states: Tensor, bounds: Tensor, slots: Tensor, accepted: Tensor
) -> None:
    """See `reference.fold_drafts`."""
    _, n_heads, value_dim, key_dim = states.shape
    _call(
        _fold_drafts,
        (*journal, windows, states, bounds, slots, accepted), None, (),
        (slots.shape[0], journal.keys.shape[1], n_heads, key_dim, value_dim, windows.shape[1] + 1),
    )  # fmt: skip


def gated_attention(
    projected: Tensor, q_scale: Tensor, k_scale: Tensor, eps: float, rotary: Tensor,
    keys: Tensor, values: Tensor, positions: Tensor, kv_rows: Tensor, page_tables: Tensor, bounds: Tensor,
) -> Tensor:  # fmt: skip
    """See `reference.gated_attention`."""
    tokens, projected_width = projected.shape
    n_kv_heads, n_pages, page_size, dim = keys.shape
    n_heads = projected_width // (2 * dim) - n_kv_heads
    sequences, table_width = page_tables.shape
    out = _empty(tokens, n_heads * dim)
    _call(
        _gated_attention[keys.dtype],
        (out, projected, q_scale, k_scale), _bits(eps),
        (rotary, keys, values, positions, kv_rows, page_tables, bounds),
        (sequences, tokens, n_heads, n_kv_heads, dim, rotary.shape[1], n_pages, page_size, table_width),
    )  # fmt: skip
    return out


def attention(
    projected: Tensor, rotary: Tensor, keys: Tensor, values: Tensor, positions: Tensor, kv_rows: Tensor,
    page_tables: Tensor, bounds: Tensor,
) -> Tensor:  # fmt: skip
    """See `reference.attention`."""
    tokens, projected_width = projected.shape
    n_kv_heads, n_pages, page_size, dim = keys.shape
    n_heads = projected_width // dim - 2 * n_kv_heads
    sequences, table_width = page_tables.shape
    out = _empty(tokens, n_heads * dim)
    _call(
        _attention[keys.dtype],
        (out, projected, rotary, keys, values, positions, kv_rows, page_tables, bounds), None, (),
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


def _by_weight(name: str) -> dict[Any, ctypes._FuncPointer]:
    """By dtype, by ("panels", dtype), or by the bits of a quantized weight."""
    panels = {("panels", dtype): function for dtype, function in _by_dtype(f"{name}_panels").items()}
    return {**_by_dtype(name), **panels, 4: _function(f"{name}_int4"), 8: _function(f"{name}_int8")}


_multiplies_bf16 = bool(_library.multiplies_bf16())
# What the record calls the operations that are not the C++ ones alone.
NAMES = dict.fromkeys(("norm_linear", "linear_add", "swiglu_linear_add"), "native+bf16") if _multiplies_bf16 else {}

_library.panel_rows.restype = c_int64
_embedding = _by_weight("embedding")
_norm_linear = _by_weight("norm_linear")
_linear_add = _by_weight("linear_add")
_swiglu_linear_add = _by_weight("swiglu_linear_add")
_gated_delta_net = _function("gated_delta_net")
_drafted_gated_delta_net = _function("drafted_gated_delta_net")
_fold_drafts = _function("fold_drafts")
_gated_attention = _by_dtype("gated_attention")
_attention = _by_dtype("attention")
_replay = _library.replay
_replay.argtypes, _replay.restype = [c_int64, c_void_p, c_int64], None


def _check() -> None:
    """Compare a few products: a compiler that gets the vector types wrong would make the model talk nonsense."""
    generator = torch.Generator().manual_seed(0)
    weight = torch.randn(50, 70, generator=generator)
    for tokens, dtype in itertools.product((3, 40), (torch.float32, torch.bfloat16)):
        gate_up = torch.randn(tokens, 140, generator=generator)
        ours, expected = torch.zeros(tokens, 50), torch.zeros(tokens, 50)
        swiglu_linear_add(ours, gate_up, weight.to(dtype))
        reference.swiglu_linear_add(expected, gate_up, weight.to(dtype))
        _agree(ours, expected)
        ours = torch.zeros(tokens, 50)
        swiglu_linear_add(ours, gate_up, arranged(weight.to(dtype)))
        _agree(ours, expected)
    for tokens, bits in itertools.product((1, 2, 13), (4, 8)):
        # Whole numbers with 127 among them are what the product makes of them, so nothing is lost.
        x = torch.randint(-127, 128, (tokens, 70), generator=generator).float()
        x[:, ::14] = 127
        packed = PackedMatrix.pack(weight, bits, group=14)
        ours = torch.zeros(tokens, 50)
        linear_add(ours, x, packed)
        _agree(ours, reference.linear(x, packed))


def _agree(ours: Tensor, expected: Tensor) -> None:
    if not torch.allclose(ours, expected, rtol=1e-3, atol=1e-3):
        raise ImportError("the compiled C++ operations compute wrongly here")


_check()
