"""The sampler against its own stated odds, against transformers' warpers, and at the edges."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from engine.account.record import Sampling
from engine.loop.sampler import NotFinite, choose, leading, odds, uniform

RNG = np.random.default_rng(7)


def row_of(n=50, spread=2.0):
    return (RNG.normal(size=n) * spread).astype(np.float32)


def chosen(row, sampling, position):
    """The token and the odds that it was chosen from."""
    token_id = choose(row, sampling, position)
    return token_id, odds(row, sampling, token_id)


def softmax(logits):
    weights = np.exp(np.asarray(logits, dtype=np.float64) - np.max(logits))
    return weights / weights.sum()


def test_greedy_takes_the_largest_and_the_first_of_equals():
    row = row_of()
    assert choose(row, Sampling(), 0) == int(np.argmax(row))
    assert choose(np.array([1, 5, 5, 2], dtype=np.float32), Sampling(), 0) == 1
    token_id, flat = chosen(np.zeros(40, dtype=np.float32), Sampling(), 0)
    assert token_id == 0
    assert flat.ids == list(range(10))


def test_greedy_odds_are_the_models_own_and_the_choice_is_certain():
    row = row_of(4096, 3.0)
    _, shown = chosen(row, Sampling(), 3)
    truth = softmax(row)
    assert shown.ids == list(np.argsort(-truth, kind="stable")[:10])
    assert shown.model == pytest.approx(truth[shown.ids], rel=1e-5)
    assert shown.tempered == shown.sampled == [1.0] + [0.0] * 9
    assert shown.rank == 0


@pytest.mark.parametrize("top_k", [0, 1, 7])
@pytest.mark.parametrize("top_p", [1.0, 0.9, 0.3, 1e-9])
@pytest.mark.parametrize("temperature", [0.3, 1.0, 2.5])
def test_the_three_odds_agree_with_transformers_warpers(temperature, top_k, top_p):
    torch = pytest.importorskip("torch")
    from transformers.generation.logits_process import TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

    row = row_of()
    scores = TemperatureLogitsWarper(temperature)(None, torch.tensor(row, dtype=torch.float64)[None])
    tempered = scores.softmax(-1)[0]
    if top_k:
        scores = TopKLogitsWarper(top_k)(None, scores)
    if top_p < 1:
        scores = TopPLogitsWarper(top_p)(None, scores)
    sampled = scores.softmax(-1)[0]
    _, shown = chosen(row, Sampling(temperature=temperature, top_k=top_k, top_p=top_p), 11)
    assert shown.model == pytest.approx(softmax(row)[shown.ids], rel=1e-5)
    assert shown.tempered == pytest.approx(tempered[shown.ids].tolist(), rel=1e-9)
    assert shown.sampled == pytest.approx(sampled[shown.ids].tolist(), rel=1e-9)


@pytest.mark.parametrize(
    "sampling",
    [Sampling(temperature=1.0), Sampling(temperature=0.7, top_k=6), Sampling(temperature=1.5, top_p=0.8)],
    ids=["plain", "top-k", "top-p"],
)
def test_what_is_drawn_follows_the_odds_that_are_stated(sampling):
    """Chi-square over 8,000 positions: a sampler that draws from anything else than it states would be far outside."""
    row, n = row_of(10, 1.0), 8_000
    stated = np.zeros(10)
    _, shown = chosen(row, sampling, 0)
    stated[shown.ids] = shown.sampled
    counts = np.bincount([choose(row, sampling, p) for p in range(n)], minlength=10)
    assert counts[stated == 0].sum() == 0
    expected = stated[stated > 0] * n
    chi_square = float(((counts[stated > 0] - expected) ** 2 / expected).sum())
    freedom = len(expected) - 1
    assert chi_square < freedom + 5 * math.sqrt(2 * freedom)


def test_a_draw_depends_on_seed_and_position_and_on_nothing_else():
    row, sampling = row_of(), Sampling(temperature=1.0, seed=5)
    alone = [choose(row, sampling, p) for p in range(50)]
    backwards = [choose(row, sampling, p) for p in reversed(range(50))]
    assert alone == backwards[::-1]
    other_seed = [choose(row, Sampling(temperature=1.0, seed=6), p) for p in range(50)]
    assert alone != other_seed
    assert len(set(alone)) > 5


def test_the_random_numbers_are_even_and_unrelated_between_neighbours():
    for numbers in ([uniform(3, p) for p in range(4000)], [uniform(s, 3) for s in range(4000)]):
        counts, _ = np.histogram(numbers, bins=20, range=(0, 1))
        assert ((counts - 200) ** 2 / 200).sum() < 19 + 5 * math.sqrt(38)
        assert abs(np.corrcoef(numbers[1:], numbers[:-1])[0, 1]) < 0.06


def test_an_unlikely_choice_is_shown_after_the_leading_ten_with_its_rank():
    row, sampling = row_of(200, 0.1), Sampling(temperature=1.0)
    draws = [chosen(row, sampling, p) for p in range(60)]
    outside = [shown for _, shown in draws if shown.rank >= 10]
    assert outside, "with 200 nearly equal tokens most draws are outside the leading ten"
    order = np.argsort(-row, kind="stable").tolist()
    for token_id, shown in draws:
        assert shown.rank == order.index(token_id)
        assert token_id in shown.ids
        assert len(shown.ids) == (11 if shown.rank >= 10 else 10)


@settings(max_examples=200, deadline=None)
@given(
    row=hnp.arrays(np.float32, st.integers(1, 60), elements=st.floats(-50, 50, width=32)),
    temperature=st.sampled_from([0.0, 5e-324, 1e-3, 0.7, 1.0, 100.0]),
    top_k=st.sampled_from([0, 1, 3, 1000]),
    top_p=st.sampled_from([1e-12, 0.5, 0.999, 1.0]),
    seed=st.integers(0, 2**53 - 1),
    position=st.integers(0, 300_000),
)
def test_for_any_logits_and_settings_the_odds_are_honest(row, temperature, top_k, top_p, seed, position):
    sampling = Sampling(temperature=temperature, top_k=top_k, top_p=top_p, seed=seed)
    token_id, shown = chosen(row, sampling, position)
    place = shown.ids.index(token_id)
    assert shown.sampled[place] > 0
    assert len(set(shown.ids)) == len(shown.ids)
    for column in (shown.model, shown.tempered, shown.sampled):
        assert all(0 <= p <= 1 + 1e-6 for p in column)
        assert sum(column) <= 1 + 1e-5
    if len(row) <= 10:
        assert sum(shown.model) == pytest.approx(1, abs=1e-5)
        assert sum(shown.sampled) == pytest.approx(1)
    # `sampled` is `tempered` cut and scaled up by one factor.
    factors = [s / t for s, t in zip(shown.sampled, shown.tempered, strict=True) if s > 0]
    assert factors == pytest.approx([factors[0]] * len(factors))


@given(hnp.arrays(np.float32, st.integers(1, 400), elements=st.sampled_from([-1.0, 0.0, 1.0, 2.0])), st.integers(1, 20))
def test_leading_is_a_stable_sort_cut_short(scores, count):
    assert leading(scores, count).tolist() == np.argsort(-scores, kind="stable")[:count].tolist()


@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_logits_that_are_not_numbers_are_refused_not_sampled(bad, temperature):
    row = row_of()
    row[17] = bad
    with pytest.raises(NotFinite):
        choose(row, Sampling(temperature=temperature), 0)
    with pytest.raises(NotFinite):
        choose(np.full(5, -math.inf, dtype=np.float32), Sampling(temperature=temperature), 0)


def test_a_token_that_the_model_excludes_is_never_drawn():
    row = np.array([0.0, -math.inf, 0.0], dtype=np.float32)
    drawn = {choose(row, Sampling(temperature=100.0), p) for p in range(200)}
    assert drawn == {0, 2}
