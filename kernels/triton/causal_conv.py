"""Depthwise causal convolution over the last N tokens, then silu: what a Gated DeltaNet layer does to its queries,
keys and values first (a short convolution before a recurrence as in Mamba, arXiv 2312.00752).

    y_t = silu(sum_i w_i * x_{t - (N - 1) + i}),    w_{N - 1} for the current token, each channel on its own

Inputs before the pass come from the sequence's window. A program has a tile of tokens of one sequence and a block of
channels. A decode step is a tile of one token. All tokens are read N times, N - 1 of them from the cache.

The window is replaced by the program of the sequence's first tile: it is the only one that reads the old one, so
nobody needs to wait for anybody.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from kernels.triton.conv_window import move_window
from kernels.triton.packing import find_tile, most_tiles


@triton.jit
def _causal_conv(
    x: tl.tensor,  # [T, C]
    taps: tl.tensor,  # [N, C]
    windows: tl.tensor,  # [slots, N - 1, C], oldest first; replaced in place
    bounds: tl.tensor,  # [B + 1]
    slots: tl.tensor,  # [B], negative: a padding row, whose output is 0
    out: tl.tensor,  # [T, C]
    x_stride: tl.tensor,  # elements from a row of x to the next
    n_sequences: tl.tensor,  # B
    n_channels: tl.tensor,  # C
    N_TAPS: tl.constexpr,
    MOVE_WINDOW: tl.constexpr,
    MAX_SEQUENCES: tl.constexpr,
    BLOCK_T: tl.constexpr,
    BLOCK_C: tl.constexpr,
) -> None:
    sequence, begin, first, end = find_tile(bounds, n_sequences, tl.program_id(0), BLOCK_T, MAX_SEQUENCES)
    if sequence >= n_sequences:
        return
    rows = first + tl.arange(0, BLOCK_T).to(tl.int64)
    channels = tl.program_id(1) * BLOCK_C + tl.arange(0, BLOCK_C)
    has_channel = channels < n_channels
    inside = (rows < end)[:, None] & has_channel[None, :]
    slot = tl.load(slots + sequence).to(tl.int64)
    window = windows + slot * (N_TAPS - 1) * n_channels

    total = tl.zeros([BLOCK_T, BLOCK_C], tl.float32)
    if slot >= 0:
        for i in tl.static_range(N_TAPS):
            # Rows are counted from the sequence's first one of this pass; negative ones lie in the window.
            at = (rows - begin - (N_TAPS - 1) + i)[:, None]
            tap = tl.load(taps + i * n_channels + channels, mask=has_channel, other=0.0).to(tl.float32)
            new = tl.load(x + (begin + at) * x_stride + channels[None, :], mask=inside & (at >= 0), other=0.0)
            kept_at = window + (at + N_TAPS - 1) * n_channels + channels[None, :]
            kept = tl.load(kept_at, mask=inside & (at < 0), other=0.0)
            total += tap[None, :] * (new.to(tl.float32) + kept.to(tl.float32))
    tl.store(out + rows[:, None] * n_channels + channels[None, :], total * tl.sigmoid(total), mask=inside)
    if MOVE_WINDOW and (slot >= 0) and (first == begin):
        tl.debug_barrier()
        rows_of_x = x + begin.to(tl.int64) * x_stride
        move_window(rows_of_x, window, end - begin, channels, x_stride, n_channels, N_TAPS)


def causal_conv(x: Tensor, taps: Tensor, windows: Tensor, bounds: Tensor, slots: Tensor) -> Tensor:
    """See `reference.causal_conv`: x [T, C] -> [T, C]; windows [slots, N - 1, C] are replaced."""
    return _launch(x, taps, windows, bounds, slots, move_window=True)


def drafted_causal_conv(x: Tensor, taps: Tensor, windows: Tensor, bounds: Tensor, slots: Tensor) -> Tensor:
    """Do the same and leave the windows as they are; `fold_windows` moves them over the accepted tokens."""
    return _launch(x, taps, windows, bounds, slots, move_window=False)


def _launch(x: Tensor, taps: Tensor, windows: Tensor, bounds: Tensor, slots: Tensor, *, move_window: bool) -> Tensor:
    n_tokens, n_channels = x.shape
    n_sequences = len(slots)
    # A decode step has one token a sequence: no tile of it would be fuller than one row.
    block_t = 1 if n_tokens == n_sequences else 16
    block_c = min(256 if block_t == 1 else 128, triton.next_power_of_2(n_channels))
    out = torch.empty((n_tokens, n_channels), dtype=x.dtype, device=x.device)
    grid = (most_tiles(n_tokens, n_sequences, block_t), triton.cdiv(n_channels, block_c))
    _causal_conv[grid](
        x, taps, windows, bounds, slots, out, x.stride(0), n_sequences, n_channels,
        N_TAPS=taps.shape[0], MOVE_WINDOW=move_window, MAX_SEQUENCES=triton.next_power_of_2(n_sequences),
        BLOCK_T=block_t, BLOCK_C=block_c,
    )  # fmt: skip
    return out
