"""How near a kernel must come to the float64 statement.

An element may be off by `tolerance` times its own size plus the root mean square of the result. Kernels compute in
float32, whose unit roundoff is 6e-8, so results stored in float32 get a small multiple of that for the length of
their sums. Results stored in half precision are rounded once (2^-11 for float16, 2^-8 for bfloat16, relative), and
once more for each time that values on the way there were.
"""

import torch

from tests.kernels.interpreter.memory import DEVICE

HALF = torch.float16 if DEVICE == "cpu" else torch.bfloat16
"""The interpreter stores bfloat16 by cutting it off, so half precision is tested with float16 there."""

_UNIT_ROUNDOFF = {torch.float32: 0.0, torch.float16: 2**-11, torch.bfloat16: 2**-8}


def tolerance(dtype, *, float32, roundings=1):
    """`float32` is what float32 arithmetic may cost; `roundings` counts the steps that go through the dtype."""
    return float32 + roundings * _UNIT_ROUNDOFF[dtype]


def assert_close(result, truth, limit):
    """`result` of any dtype and device against `truth` in float64."""
    result, truth = result.detach().double().cpu(), truth.double().cpu()
    assert result.shape == truth.shape
    assert torch.isfinite(truth).all()
    assert torch.isfinite(result).all(), "the kernel left NaN or made infinities"
    allowed = limit * (truth.abs() + truth.square().mean().sqrt()) + 1e-30
    worst = ((result - truth).abs() / allowed).max().item() if truth.numel() else 0.0
    assert worst <= 1, f"off by {worst:.2f} times the tolerance {limit:.1e}"
