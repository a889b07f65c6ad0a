"""From a step's logits to the tokens of each of its parts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from engine.loop.drafting.acceptance import verify
from engine.loop.result import Choice, Result
from engine.loop.sampler import NotFinite, choose
from engine.loop.sequence import Part, Sequence, StepPlan

Ends = Callable[[Sequence, int, int], bool]
"""Whether a sequence ends when its n-th new token is this one: (sequence, token_id, n)."""


def choose_all(plan: StepPlan, logits: NDArray[np.float32], ends: Ends, clock: Callable[[], int]) -> list[Result]:
    """A result for each part. `logits` [n, vocab] hold the rows of all parts, in order."""
    results, row = [], 0
    for part in plan.parts:
        choices, failure = _choose(part, logits[row : row + part.n_logits], ends)
        results.append(Result(choices, clock(), failure))
        row += part.n_logits
    return results


def _choose(part: Part, rows: NDArray[np.float32], ends: Ends) -> tuple[list[Choice], str | None]:
    sequence = part.sequence
    try:
        if part.drafts:
            return _choose_among_drafts(part, rows, ends), None
        if part.n_logits:
            return [Choice(choose(rows[0], sequence.sampling, len(sequence.tokens)), rows[0])], None
    except NotFinite as error:
        return [], str(error)
    return [], None


def _choose_among_drafts(part: Part, rows: NDArray[np.float32], ends: Ends) -> list[Choice]:
    sequence, n_new = part.sequence, part.sequence.n_new
    token_ids = verify(
        rows, part.drafts, sequence.sampling, len(sequence.tokens),
        lambda token_id, n: ends(sequence, token_id, n_new + n),
    )  # fmt: skip
    return [Choice(token_id, row) for token_id, row in zip(token_ids, rows, strict=False)]
