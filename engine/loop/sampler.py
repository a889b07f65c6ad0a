"""From logits to a token, and the odds it was drawn from.

Greedy takes the largest logit. Otherwise the logits are divided by the temperature, the `top_k` likeliest are kept, of
these the smallest set that holds at least `top_p` of their probability (Holtzman et al., arXiv 1904.09751), and one is
drawn. Ties go to the smaller token id everywhere, so equal logits give equal tokens on any machine.

A draw is keyed by (seed, position) through a counter-based generator (Philox; Salmon et al., "Parallel random numbers:
as easy as 1, 2, 3", SC 2011): it depends on nothing else, so neither a batch, nor a retry, nor a draft changes it.

Plain numpy on one row at a time: for a vocabulary of 4,096 the leading ten and the normaliser take about 10 us, where
torch takes 45 and, on a busy machine, sometimes waits a millisecond for its second thread.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.account.record import Sampling

N_CANDIDATES = 10
N_COLUMNS = 128

Floats = NDArray[np.floating]
Ids = NDArray[np.intp]


class NotFinite(ArithmeticError):
    """The model's logits hold no usable numbers (NaN or infinity), so no token can be chosen honestly."""


class Odds(NamedTuple):
    """The leading candidates for one position, likeliest first by the model's own odds; the choice is among them."""

    ids: list[int]
    model: list[float]
    tempered: list[float]
    sampled: list[float]
    rank: int
    """Place of the choice in the model's own order, 0 for the likeliest."""


class _Distribution(NamedTuple):
    """What a token is drawn from: the entries `kept` of `tempered`, scaled to sum to 1."""

    tempered: Floats
    """[vocab] softmax of logits / temperature, before truncation."""
    kept: Ids | None
    """Ids that truncation kept, likeliest first; None for all."""


def choose(row: NDArray[np.float32], sampling: Sampling, position: int) -> int:
    """Choose the token for `position` from its logits `row` [vocab]; raises `NotFinite`."""
    best = int(row.argmax())  # the first NaN if there is one
    top = float(row[best])
    if not math.isfinite(top):
        raise NotFinite("The model's logits are not finite numbers.")
    if sampling.temperature == 0.0:
        return best
    tempered, kept = _distribution(row, top, sampling)
    place = draw(tempered if kept is None else tempered[kept], uniform(sampling.seed, position))
    return place if kept is None else int(kept[place])


def draw(weights: Floats, number: float) -> int:
    """The place in `weights` [n] (at least one positive) that a number in [0, 1) points to, in proportion to them."""
    cumulative = np.cumsum(weights)
    # Below the total even after rounding, so that no token of probability 0 is ever drawn.
    target = min(number * cumulative[-1], np.nextafter(cumulative[-1], 0.0))
    return int(np.searchsorted(cumulative, target, side="right"))


def distribution(row: NDArray[np.float32], sampling: Sampling) -> Floats:
    """The probabilities [vocab] that a token is drawn from: after temperature (above 0), top-k and top-p, sum 1.

    Raises `NotFinite`.
    """
    top = float(row[int(row.argmax())])
    if not math.isfinite(top):
        raise NotFinite("The model's logits are not finite numbers.")
    tempered, kept = _distribution(row, top, sampling)
    return tempered if kept is None else _sampled(tempered, kept, np.arange(tempered.size))


def odds(row: NDArray[np.float32], sampling: Sampling, token_id: int) -> Odds:
    """The odds that `choose` chose `token_id` from, for the same row and sampling.

    Apart from `choose`, since the token is wanted at once and the odds only by whoever reads the record.
    """
    ids = leading(row, N_CANDIDATES)
    top = float(row[ids[0]])
    if sampling.temperature == 0.0:
        certain = [1.0] + [0.0] * (ids.size - 1)
        return Odds(ids.tolist(), _model_odds(row, top, ids), certain, certain, 0)
    rank = _rank(row, token_id)
    if rank >= ids.size:
        ids = np.append(ids, token_id)
    tempered, kept = _distribution(row, top, sampling)
    sampled = tempered[ids] if kept is None else _sampled(tempered, kept, ids)
    return Odds(ids.tolist(), _model_odds(row, top, ids), tempered[ids].tolist(), sampled.tolist(), rank)


def leading(scores: Floats, count: int) -> Ids:
    """Ids of the `count` largest scores, largest first, ties by smaller id. `scores` [n] without NaN."""
    count = min(count, scores.size)
    ids = (scores >= _reached_by(scores, count)).nonzero()[0]
    # nonzero gives ascending ids, and a stable sort keeps them so among equals.
    return ids[(-scores[ids]).argsort(kind="stable")[:count]]


def _reached_by(scores: Floats, count: int) -> np.floating:
    """A value that at least `count` scores reach and not many more.

    The count-th largest of the column maxima is one: each of those columns has a score that large. Finding it costs one
    sweep at memory speed, where selecting from the whole vocabulary costs several.
    """
    n_rows = scores.size // N_COLUMNS
    if n_rows > 1 and count < N_COLUMNS:
        scores = scores[: n_rows * N_COLUMNS].reshape(n_rows, N_COLUMNS).max(axis=0)
    return np.partition(scores, -count)[-count]


def uniform(seed: int, position: int, stream: int = 0) -> float:
    """The random number in [0, 1) that belongs to this seed and position, with 53 bits; one for each `stream`."""
    # The counter has 256 bits; streams lie 2^64 apart, further than any position reaches.
    raw = int(np.random.Philox(key=seed, counter=position + (stream << 64)).random_raw())
    return (raw >> 11) * 2.0**-53


def _distribution(row: NDArray[np.float32], top: float, sampling: Sampling) -> _Distribution:
    with np.errstate(over="ignore"):  # a tiny temperature sends all but the largest to minus infinity, as it should
        tempered = np.exp((row.astype(np.float64) - top) / sampling.temperature)
    tempered /= tempered.sum()
    kept = leading(tempered, sampling.top_k) if sampling.top_k else None
    if sampling.top_p < 1.0:
        kept = _nucleus(tempered, kept, sampling.top_p)
    return _Distribution(tempered, kept)


def _nucleus(tempered: Floats, kept: Ids | None, top_p: float) -> Ids:
    """The fewest ids, likeliest first, whose probabilities sum to at least `top_p` of those that are kept so far."""
    probabilities = np.sort(tempered)[::-1] if kept is None else tempered[kept]
    cumulative = np.cumsum(probabilities)
    count = int(np.searchsorted(cumulative, top_p * cumulative[-1])) + 1
    return leading(tempered, count) if kept is None else kept[:count]


def _sampled(tempered: Floats, kept: Ids, ids: Ids) -> Floats:
    """The probabilities of `ids` after truncation: 0 for what was cut, the rest scaled up."""
    is_kept = np.zeros(tempered.size, dtype=bool)
    is_kept[kept] = True
    return np.where(is_kept[ids], tempered[ids] / tempered[kept].sum(), 0.0)


def _model_odds(row: NDArray[np.float32], top: float, ids: Ids) -> list[float]:
    """Softmax of the logits as they are, at `ids`. float32 is enough: numpy sums pairwise, error about 1e-6 of the
    odds.
    """
    weights = row - np.float32(top)
    np.exp(weights, out=weights)
    normaliser = float(np.add.reduce(weights))
    return [math.exp(score - top) / normaliser for score in row[ids].tolist()]


def _rank(row: NDArray[np.float32], token_id: int) -> int:
    """How many tokens come before this one: those with a larger logit, and equals with a smaller id."""
    score = row[token_id]
    return int((row > score).sum() + (row[:token_id] == score).sum())
