"""Every GPU kernel called once with random inputs of a model's shape: what `kernels_gpu` checks and times.

Each call knows what it must at least move and compute, so that a measured time can be set against the machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from engine.account.record import ModelShape
from engine.memory.pages import PAGE_SIZE, pages_for
from kernels import gpu, reference, reference_drafts, reference_quantized

plain: Any = reference
"""The statements; untyped, because a type checker cannot count unpacked arguments."""

INT4_GROUP = 64
MOST_DRAFTS = 8


@dataclass(frozen=True)
class Call:
    """One kernel on one set of inputs."""

    name: str
    run: Callable[[], Any]
    truth: Callable[[], Tensor]
    """What the next `run` should return, by the plain statement in float64: `run` moves states and windows on."""
    least_bytes: int
    operations: int = 0
    peers: dict[str, Callable[[], Any]] = field(default_factory=dict)
    """Other implementations of the same, by name."""


class Inputs:
    """A pass over `n_tokens` of each of `n_sequences`, with `context` positions before them in the cache."""

    def __init__(
        self, shape: ModelShape, n_sequences: int, n_tokens: int, context: int, device: str, dtype: torch.dtype
    ) -> None:
        self.shape, self.device, self.dtype = shape, device, dtype
        self.n_sequences, self.n_tokens, self.context = n_sequences, n_tokens, context
        self.rows = n_sequences * n_tokens
        self.bounds = torch.arange(n_sequences + 1, device=device) * n_tokens
        self.slots = torch.arange(n_sequences, device=device)
        each = pages_for(context + n_tokens)
        self.page_tables = torch.arange(n_sequences * each, device=device, dtype=torch.int32).view(n_sequences, each)
        new = torch.arange(context, context + n_tokens, device=device)
        self.positions = new.repeat(n_sequences)
        self.kv_rows = (self.page_tables[:, new // PAGE_SIZE] * PAGE_SIZE + new % PAGE_SIZE).flatten().long()

    def randn(self, *size: int, dtype: torch.dtype | None = None) -> Tensor:
        """Normal numbers on the device, in the activations' dtype unless another is given."""
        return torch.randn(size, device=self.device, dtype=dtype or self.dtype)


def calls(inputs: Inputs) -> Iterator[Call]:
    """All kernels on these inputs; the quantized products only for a few rows, which is what they are for."""
    yield from _norms(inputs)
    yield from _delta_net(inputs)
    yield from _attention(inputs)
    if inputs.rows <= 8:
        yield from _quantized(inputs)


def _norms(inputs: Inputs) -> Iterator[Call]:
    x, scale = inputs.randn(inputs.rows, inputs.shape.hidden_size), inputs.randn(inputs.shape.hidden_size)
    yield Call(
        "RMS norm", lambda: gpu.rms_norm(x, scale, 1e-6),
        lambda: reference.rms_norm(x.double(), scale.double(), 1e-6),
        2 * x.nbytes, peers={"torch": lambda: F.rms_norm(x, scale.shape, scale, 1e-6)},
    )  # fmt: skip
    gate_up = inputs.randn(inputs.rows, 2 * inputs.shape.intermediate_size)
    yield Call(
        "SwiGLU", lambda: gpu.swiglu(gate_up), lambda: reference.swiglu(gate_up.double()),
        gate_up.nbytes * 3 // 2, peers={"torch": lambda: reference.swiglu(gate_up)},
    )  # fmt: skip


def _delta_net(inputs: Inputs) -> Iterator[Call]:
    shape, device = inputs.shape, inputs.device
    key_heads, heads = shape.linear_num_key_heads, shape.linear_num_value_heads
    key_dim, value_dim = shape.linear_key_head_dim, shape.linear_value_head_dim
    channels = 2 * key_heads * key_dim + heads * value_dim
    x, z = inputs.randn(inputs.rows, channels), inputs.randn(inputs.rows, heads * value_dim)
    taps = inputs.randn(shape.linear_conv_kernel_dim, channels, dtype=torch.float32)
    windows = torch.zeros(inputs.n_sequences, shape.linear_conv_kernel_dim - 1, channels, device=device)
    yield Call(
        "causal convolution", lambda: gpu.causal_conv(x, taps, windows, inputs.bounds, inputs.slots),
        lambda: reference.causal_conv(x.double(), taps.double(), windows.double(), inputs.bounds, inputs.slots),
        2 * x.nbytes + 2 * windows.nbytes,
    )  # fmt: skip

    a, b = inputs.randn(inputs.rows, heads), inputs.randn(inputs.rows, heads)
    rate, bias = -torch.rand(heads, device=device), inputs.randn(heads, dtype=torch.float32)
    states = inputs.randn(inputs.n_sequences, heads, value_dim, key_dim, dtype=torch.float32)
    core = (inputs.bounds, inputs.slots, key_heads)
    exact = _exact(x, a, b, rate, bias)
    # Decay, read, write, read: 7 operations for each number of a state and token, and 2 for each value.
    operations = inputs.rows * heads * value_dim * (7 * key_dim + 2)
    yield Call(
        "delta rule", lambda: gpu.gated_delta_rule(x, a, b, rate, bias, states, *core),
        lambda: plain.gated_delta_rule(*exact, states.double(), *core),
        x.nbytes + inputs.rows * heads * value_dim * x.element_size() + 2 * states.nbytes,
        operations, peers=_delta_peers(inputs, x, a, b, rate, bias, states),
    )  # fmt: skip
    if 1 < inputs.n_tokens <= MOST_DRAFTS:
        yield from _drafts(inputs, (x, a, b, rate, bias, states, *core))
    o, weight = inputs.randn(inputs.rows, heads, value_dim), inputs.randn(value_dim)
    yield Call(
        "gated RMS norm", lambda: gpu.gated_rms_norm(o, z, weight, 1e-6),
        lambda: reference.gated_rms_norm(o.double(), z.double(), weight.double(), 1e-6), 3 * o.nbytes,
    )  # fmt: skip


def _drafts(inputs: Inputs, arguments: Any) -> Iterator[Call]:
    """Drafted tokens, and the fold of all but the last of each sequence."""
    states, bounds, slots = arguments[5:8]
    yield Call(
        "delta rule, drafted", lambda: gpu.drafted_delta_rule(*arguments)[0],
        lambda: reference_drafts.drafted_delta_rule(*_exact(*arguments[:6]), *arguments[6:])[0],
        arguments[0].nbytes + states.nbytes,
    )  # fmt: skip
    journal = gpu.drafted_delta_rule(*arguments)[1:]
    accepted = torch.full_like(slots, inputs.n_tokens - 1)

    def folded(fold: Callable[..., None], journal: Any, states: Tensor) -> Tensor:
        fold(*journal, states, bounds, slots, accepted)
        return states

    yield Call(
        "fold of accepted drafts", lambda: folded(gpu.fold, journal, states),
        lambda: folded(reference_drafts.fold, _exact(*journal), states.double()), 2 * states.nbytes,
    )  # fmt: skip


def _exact(*tensors: Tensor) -> Any:
    """The tensors in float64, as the plain statements take them for the truth."""
    return [tensor.double() for tensor in tensors]


def _delta_peers(
    inputs: Inputs, x: Tensor, a: Tensor, b: Tensor, rate: Tensor, bias: Tensor, states: Tensor
) -> dict[str, Callable[[], Any]]:
    """flash-linear-attention, where it is installed, on the same numbers with their preparation not counted."""
    try:
        from fla.ops.gated_delta_rule import chunk_gated_delta_rule, fused_recurrent_gated_delta_rule
    except ImportError:
        return {}
    _, heads, value_dim, _ = states.shape
    q, k, v = reference.split_heads(x.float(), inputs.shape.linear_num_key_heads, heads, value_dim)
    g, beta = reference.decay_and_write_strength(a.float(), b.float(), rate, bias)
    # It takes [B, T, H, D], scales queries itself, and has keys first in the state.
    q, k, v, beta = (
        t.unflatten(0, (inputs.n_sequences, inputs.n_tokens)).to(x.dtype) for t in (q * q.shape[-1] ** 0.5, k, v, beta)
    )
    g = g.unflatten(0, (inputs.n_sequences, inputs.n_tokens))
    rule = fused_recurrent_gated_delta_rule if inputs.n_tokens == 1 else chunk_gated_delta_rule
    first = states.transpose(2, 3).contiguous()
    return {"flash-linear-attention": lambda: rule(q, k, v, g, beta, initial_state=first, output_final_state=True)[0]}


def _attention(inputs: Inputs) -> Iterator[Call]:
    shape = inputs.shape
    heads, kv_heads, dim = shape.num_attention_heads, shape.num_key_value_heads, shape.head_dim
    pool = (kv_heads, inputs.page_tables.numel(), PAGE_SIZE, dim)
    keys, values = inputs.randn(*pool), inputs.randn(*pool)
    q, k, v = (inputs.randn(inputs.rows, n * dim) for n in (heads, kv_heads, kv_heads))
    scale = 1 + inputs.randn(dim, dtype=torch.float32) / 4
    rotary = reference.rotary_table(inputs.context + inputs.n_tokens, dim // 4, 1e7).to(inputs.device)
    place = (inputs.positions, rotary)
    # New pages: the cache that attention reads below stays as it is.
    scratch = keys.clone(), values.clone()
    yield Call(
        "norm, rotate, store",
        lambda: gpu.rotate_and_store(q, k, v, scale, scale, 1e-6, *place, *scratch, inputs.kv_rows),
        lambda: plain.rotate_and_store(
            *_exact(q, k, v, scale, scale), 1e-6, *place, *_exact(*scratch), inputs.kv_rows
        ),
        2 * (q.nbytes + k.nbytes + v.nbytes),
    )  # fmt: skip

    queries, gate = q.view(inputs.rows, heads, dim), inputs.randn(inputs.rows, heads * dim)
    over = (inputs.page_tables, inputs.positions, inputs.bounds)
    seen = inputs.n_tokens * inputs.context + inputs.n_tokens * (inputs.n_tokens + 1) // 2
    held = inputs.n_sequences * (inputs.context + inputs.n_tokens)
    yield Call(
        "attention",
        lambda: gpu.paged_attention(queries, gate, keys, values, *over),
        lambda: plain.paged_attention(*_exact(queries, gate, keys, values), *over),
        2 * held * kv_heads * dim * keys.element_size() + 3 * q.nbytes,
        4 * dim * heads * inputs.n_sequences * seen,
        peers=_sdpa(inputs, queries, keys, values),
    )  # fmt: skip


def _sdpa(inputs: Inputs, queries: Tensor, keys: Tensor, values: Tensor) -> dict[str, Callable[[], Any]]:
    """The attention of torch over the same keys and values laid out in one piece, which is not counted."""
    if inputs.n_tokens > 1 and inputs.context > 0:
        return {}  # Its causal mask starts at the first key.
    n, length = inputs.n_sequences, inputs.context + inputs.n_tokens
    k, v = (pool.view(len(pool), n, -1, pool.shape[-1])[:, :, :length].transpose(0, 1) for pool in (keys, values))
    k, v = k.contiguous(), v.contiguous()
    q = queries.unflatten(0, (n, inputs.n_tokens)).transpose(1, 2).contiguous()
    causal = inputs.n_tokens > 1
    return {"torch SDPA, no gate": lambda: F.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=True)}


def _quantized(inputs: Inputs) -> Iterator[Call]:
    """The largest product of a block, gate and up."""
    width, n_outputs = inputs.shape.hidden_size, 2 * inputs.shape.intermediate_size
    x, weight = inputs.randn(inputs.rows, width), inputs.randn(n_outputs, width)
    peers = {f"torch, {inputs.dtype}".replace("torch.", ""): lambda: F.linear(x, weight)}
    moved = x.nbytes + inputs.rows * n_outputs * x.element_size()
    int8 = reference_quantized.quantize_int8(weight)
    yield Call(
        "int8 product", lambda: gpu.int8_linear(x, *int8), lambda: reference_quantized.int8_linear(x.double(), *int8),
        moved + sum(t.nbytes for t in int8), peers=peers,
    )  # fmt: skip
    int4 = reference_quantized.quantize_int4(weight, INT4_GROUP)
    yield Call(
        "int4 product", lambda: gpu.int4_linear(x, *int4), lambda: reference_quantized.int4_linear(x.double(), *int4),
        moved + sum(t.nbytes for t in int4), peers=peers,
    )  # fmt: skip
