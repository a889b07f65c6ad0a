"""The window of the short causal convolution: a sequence's last N - 1 inputs, the whole memory of that layer's
convolution.

After a pass over n inputs the window is the last N - 1 rows of (old window, inputs):

    window'_i = input_{n - (N - 1) + i}  if that is an input of this pass,  else  window_{n + i}

A drafted pass leaves the window alone until it is known how many of its tokens hold; `fold_windows` then moves it over
those. Rejected tokens leave no trace, because nothing of theirs was ever written.
"""

import triton
import triton.language as tl
from torch import Tensor


@triton.jit
def move_window(
    x: tl.tensor,  # [n, C] rows of this sequence, at its first one
    window: tl.tensor,  # [N - 1, C]
    n_rows: tl.tensor,  # n, at least 1
    channels: tl.tensor,  # [BLOCK] which channels; those from C on do not exist
    x_stride: tl.tensor,
    n_channels: tl.tensor,
    N_TAPS: tl.constexpr,
) -> None:
    """Replace a sequence's window after n_rows inputs. One program per channel block, and no one else may be reading
    it.
    """
    for i in tl.static_range(N_TAPS - 1):
        at = n_rows - (N_TAPS - 1) + i
        # The condition, on the number of channels: the interpreter spoils a mask that a scalar condition joins.
        in_x, in_window = channels < tl.where(at >= 0, n_channels, 0), channels < tl.where(at < 0, n_channels, 0)
        new = tl.load(x + at * x_stride + channels, mask=in_x, other=0.0).to(tl.float32)
        old = tl.load(window + (n_rows + i) * n_channels + channels, mask=in_window, other=0.0).to(tl.float32)
        # Row n + i is read before any thread goes on to overwrite it.
        tl.debug_barrier()
        tl.store(window + i * n_channels + channels, new + old, mask=channels < n_channels)


@triton.jit
def _fold_windows(
    x: tl.tensor,  # [T, C]
    windows: tl.tensor,  # [slots, N - 1, C]
    bounds: tl.tensor,  # [B + 1]
    slots: tl.tensor,  # [B], negative: a padding row
    accepted: tl.tensor,  # [B] of each sequence's rows, how many hold
    x_stride: tl.tensor,
    n_channels: tl.tensor,
    N_TAPS: tl.constexpr,
    BLOCK: tl.constexpr,
) -> None:
    sequence = tl.program_id(0)
    slot = tl.load(slots + sequence).to(tl.int64)
    n_rows = tl.load(accepted + sequence)
    if (slot < 0) | (n_rows <= 0):
        return
    channels = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    first = x + tl.load(bounds + sequence).to(tl.int64) * x_stride
    window = windows + slot * (N_TAPS - 1) * n_channels
    move_window(first, window, n_rows, channels, x_stride, n_channels, N_TAPS)


def fold_windows(x: Tensor, windows: Tensor, bounds: Tensor, slots: Tensor, accepted: Tensor) -> None:
    """See `reference_drafts.fold_windows`: move windows [slots, N - 1, C] over the accepted rows of x [T, C], in
    place.
    """
    n_channels = x.shape[1]
    block = min(256, triton.next_power_of_2(n_channels))
    _fold_windows[(len(slots), triton.cdiv(n_channels, block))](
        x, windows, bounds, slots, accepted, x.stride(0), n_channels, N_TAPS=windows.shape[1] + 1, BLOCK=block
    )
