"""Which guesses stand, so that nobody could tell from the text that there were any.

A guess that was looked up stands if it is the very token that would have been drawn here, with the draw that belongs to
this seed and position. So it changes nothing: the tokens are those of a run without drafts, for greedy and for sampled
ones alike. (For a guess that is certain, this is the rejection rule: it stands with the probability that the model
gives it, and what is drawn instead is distributed like the rest.)

A guess that a draft model drew with odds q stands with probability min(1, p/q), where p are the model's own odds after
temperature and truncation; if it falls, the token is drawn from max(0, p - q), scaled to sum to 1. Together the token
is distributed exactly as p (Leviathan et al., arXiv 2211.17192; Chen et al., arXiv 2302.01318). Its draws are keyed by
seed and position, too, on streams of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence as Many

import numpy as np
from numpy.typing import NDArray

from engine.account.record import Sampling
from engine.loop.sampler import choose, distribution, draw, uniform
from engine.loop.sequence import Draft

ACCEPT_STREAM, RESIDUAL_STREAM, DRAFT_STREAM = 1, 2, 3
"""Apart from 0, the stream of ordinary draws: a number may decide only one thing."""


def verify(
    rows: NDArray[np.float32],
    drafts: Many[Draft],
    sampling: Sampling,
    position: int,
    ends: Callable[[int, int], bool],
) -> list[int]:
    """Tokens from `position` on: the drafts that stand, and the token after them. At least one.

    `rows` [1 + drafts, vocab] are the logits after the newest known token and after each draft. `ends(token_id, n)`
    says whether the run ends with this n-th token of the pass; nothing is taken after that. Raises `NotFinite`.
    """
    taken: list[int] = []
    for place, row in enumerate(rows):
        draft = drafts[place] if place < len(drafts) else None
        token_id = _decide(row, draft, sampling, position + place)
        taken.append(token_id)
        if draft is None or token_id != draft.token_id or ends(token_id, len(taken)):
            break
    return taken


def _decide(row: NDArray[np.float32], draft: Draft | None, sampling: Sampling, position: int) -> int:
    if draft is None or draft.odds is None or sampling.temperature == 0.0:
        return choose(row, sampling, position)
    wanted = distribution(row, sampling)
    guess = draft.token_id
    chance = wanted[guess] / draft.odds[guess]
    if uniform(sampling.seed, position, ACCEPT_STREAM) < chance:
        return guess
    rest = np.maximum(wanted - draft.odds, 0.0)
    if not rest.any():  # p and q differ by rounding only
        return guess
    return draw(rest, uniform(sampling.seed, position, RESIDUAL_STREAM))
