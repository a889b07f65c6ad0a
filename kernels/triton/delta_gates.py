"""What every delta-rule kernel does with a token's projections first: gates, unit vectors (arXiv 2412.06464)."""

import triton
import triton.language as tl


@triton.jit
def log1p(x: tl.tensor) -> tl.tensor:
    """log(1 + x) for x >= 0, accurate where 1 + x is nearly 1.

    1 + x rounds to some s, and log(s) / (s - 1) changes so slowly that it may stand for log(1 + x) / x (Kahan; in
    Goldberg, "What every computer scientist should know about floating-point arithmetic", 1991, theorem 4).
    """
    s = 1.0 + x
    return tl.where(s == 1.0, x, tl.log(s) * (x / tl.where(s == 1.0, 1.0, s - 1.0)))


@triton.jit
def gates(
    a: tl.tensor,  # projections of the decay, any shape
    b: tl.tensor,  # projections of the write strength, the same shape
    decay_rate: tl.tensor,  # the head's -exp(A_log)
    dt_bias: tl.tensor,  # the head's
) -> tuple[tl.tensor, tl.tensor]:
    """Log of the decay, g = decay_rate * softplus(a + dt_bias) <= 0, and write strength, beta = sigmoid(b)."""
    x = a + dt_bias
    # softplus(x) = log(1 + e^x), with the exponent never positive.
    softplus = tl.maximum(x, 0.0) + log1p(tl.exp(-tl.abs(x)))
    return decay_rate * softplus, tl.sigmoid(b)


@triton.jit
def unit(x: tl.tensor) -> tl.tensor:
    """Rows of x [..., K] scaled to length 1. 1e-6 is the library's constant, and keeps a row of zeros at zero."""
    return x * tl.rsqrt(tl.sum(x * x, axis=-1, keep_dims=True) + 1e-6)


@triton.jit
def log_decay_between(g: tl.tensor, CHUNK: tl.constexpr) -> tl.tensor:
    """[CHUNK, CHUNK]: how much (log) the state decays from after token j to after token i, the sum of g over j < l <=
    i.

    For i <= j it is 0. Each sum is made on its own: as a difference of two running sums it would lose the small
    decays that follow a large one, and would be infinity minus infinity after a decay to nothing (the stable segment
    sum of Mamba-2, arXiv 2405.21060).
    """
    token = tl.arange(0, CHUNK)
    later = token[:, None] > token[None, :]
    return tl.cumsum(tl.where(later, g[:, None], 0.0), axis=0)
