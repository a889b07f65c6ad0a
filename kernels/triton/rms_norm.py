"""RMSNorm (arXiv 1910.07467), in both weight conventions, alone or with the addition to the residual stream before it.

    y_i = x_i / sqrt(mean_j x_j^2 + eps) * w_i        or, zero-centred,        ... * (1 + w_i)

One program has one row. The row is read once, and stays in registers between the sum of squares and the scaling:
separate torch operations would carry it to memory and back three times. A block of the model adds its result to the
residual and norms the sum; done here, the sum is not read again for the norm.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor


@triton.jit
def _rms_norm(
    x: tl.tensor,  # [T, D]
    residual: tl.tensor,  # [T, D] or unused: becomes residual + x, and that is what is normed
    weight: tl.tensor,  # [D]
    out: tl.tensor,  # [T, D]
    x_stride: tl.tensor,  # elements from a row of x to the next
    residual_stride: tl.tensor,
    width: tl.tensor,  # D
    eps: tl.tensor,
    ADD: tl.constexpr,
    ZERO_CENTRED: tl.constexpr,
    BLOCK: tl.constexpr,  # at least D
) -> None:
    row = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, BLOCK)
    inside = columns < width
    row_of_x = tl.load(x + row * x_stride + columns, mask=inside, other=0.0).to(tl.float32)
    if ADD:
        place = residual + row * residual_stride + columns
        row_of_x += tl.load(place, mask=inside, other=0.0).to(tl.float32)
        tl.store(place, row_of_x, mask=inside)
    scale = tl.load(weight + columns, mask=inside, other=0.0).to(tl.float32)
    if ZERO_CENTRED:
        scale += 1.0
    mean_square = tl.sum(row_of_x * row_of_x, axis=0) / width
    tl.store(out + row * width + columns, row_of_x * tl.rsqrt(mean_square + eps) * scale, mask=inside)


def rms_norm(
    x: Tensor, weight: Tensor, eps: float, *, zero_centred: bool = False, dtype: torch.dtype | None = None
) -> Tensor:
    """See `reference.rms_norm`: x [..., D] -> [..., D], in x's dtype or the one given."""
    rows = x.reshape(-1, x.shape[-1])
    return _launch(rows, None, weight, eps, zero_centred, dtype or x.dtype).view(x.shape)


def add_rms_norm(residual: Tensor, x: Tensor, weight: Tensor, eps: float, *, zero_centred: bool = False) -> Tensor:
    """Add x [T, D] to the residual [T, D] in place, and return the norm of the sum [T, D], in the residual's dtype."""
    return _launch(x, residual, weight, eps, zero_centred, residual.dtype)


def _launch(
    x: Tensor, residual: Tensor | None, weight: Tensor, eps: float, zero_centred: bool, dtype: torch.dtype
) -> Tensor:
    n_rows, width = x.shape
    stream = x if residual is None else residual
    out = torch.empty((n_rows, width), dtype=dtype, device=x.device)
    block = triton.next_power_of_2(width)
    _rms_norm[(n_rows,)](
        x, stream, weight, out, x.stride(0), stream.stride(0), width, eps,
        ADD=residual is not None, ZERO_CENTRED=zero_centred, BLOCK=block, num_warps=min(max(block // 512, 1), 8),
    )  # fmt: skip
    return out
