"""Matrix-vector product with int8 weights, one scale a row (vector-wise quantization of LLM.int8(), arXiv 2208.07339).

    y_o = s_o * sum over i of Q_oi x_i

A decode step reads every weight for a handful of tokens, and can be no faster than that reading: a byte a weight
instead of two halves the floor. Bytes become float32 in registers, and the scale waits until the sum is done. A
program has BLOCK_O rows and up to 8 tokens, which share each weight that is read. Partial sums stay spread over the
threads, [tokens, rows, BLOCK_I], and are added up once at the end.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor


@triton.jit
def _int8_linear(
    x: tl.tensor,  # [T, I]
    weight: tl.tensor,  # [O, I] int8
    scale: tl.tensor,  # [O]
    out: tl.tensor,  # [T, O], written
    x_stride: tl.tensor,  # elements from a row of x to the next
    n_tokens: tl.tensor,  # T
    width: tl.tensor,  # I
    n_outputs: tl.tensor,  # O
    BLOCK_T: tl.constexpr,
    BLOCK_O: tl.constexpr,
    BLOCK_I: tl.constexpr,
) -> None:
    tokens = tl.program_id(1) * BLOCK_T + tl.arange(0, BLOCK_T).to(tl.int64)
    rows = tl.program_id(0) * BLOCK_O + tl.arange(0, BLOCK_O).to(tl.int64)
    partial = tl.zeros([BLOCK_T, BLOCK_O, BLOCK_I], tl.float32)
    for start in range(0, width, BLOCK_I):
        columns = start + tl.arange(0, BLOCK_I)
        in_x = (tokens < n_tokens)[:, None] & (columns < width)[None, :]
        here = tl.load(x + tokens[:, None] * x_stride + columns[None, :], mask=in_x, other=0.0).to(tl.float32)
        in_weight = (rows < n_outputs)[:, None] & (columns < width)[None, :]
        weights = tl.load(weight + rows[:, None] * width + columns[None, :], mask=in_weight, other=0).to(tl.float32)
        partial += here[:, None, :] * weights[None, :, :]
    scales = tl.load(scale + rows, mask=rows < n_outputs, other=0.0).to(tl.float32)
    sums = tl.sum(partial, axis=2) * scales[None, :]
    inside = (tokens < n_tokens)[:, None] & (rows < n_outputs)[None, :]
    tl.store(out + tokens[:, None] * n_outputs + rows[None, :], sums, mask=inside)


def int8_linear(x: Tensor, weight: Tensor, scale: Tensor) -> Tensor:
    """See `reference_quantized.int8_linear`: x [T, I], weight [O, I], scale [O] -> [T, O]. Meant for few tokens."""
    (n_tokens, width), n_outputs = x.shape, len(weight)
    block_t = min(8, triton.next_power_of_2(n_tokens))
    block_o = 4 if block_t <= 2 else 2
    out = torch.empty((n_tokens, n_outputs), dtype=x.dtype, device=x.device)
    _int8_linear[(triton.cdiv(n_outputs, block_o), triton.cdiv(n_tokens, block_t))](
        x, weight, scale, out, x.stride(0), n_tokens, width, n_outputs,
        BLOCK_T=block_t, BLOCK_O=block_o, BLOCK_I=min(512, triton.next_power_of_2(width)), num_warps=4,
    )  # fmt: skip
    return out
