"""Whether two runs wrote the same, where kernels of different shapes may round differently (law 8 of the facts)."""

from __future__ import annotations

import math

from engine.account.record import Run

CLOSE_CALL = 0.02
"""Difference of two natural logarithms of odds. The KV cache is bf16, and with bf16 arithmetic so are the products, so
odds this close may change places.
"""


def assert_same_words(run: Run, wanted: Run) -> None:
    """Token for token with the same odds, up to a place where the two best odds were too close to call."""
    for got, expected in zip(run.emissions, wanted.emissions, strict=True):
        best, second = (math.log(candidate.model) for candidate in expected.candidates[:2])
        if got.token.id != expected.token.id:
            assert best - second < CLOSE_CALL
            return
        assert abs(math.log(got.candidates[0].model) - best) < CLOSE_CALL
