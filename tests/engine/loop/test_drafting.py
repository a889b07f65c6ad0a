"""Guesses never change what is said: looked-up ones not a token, drawn ones not the distribution."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.account.record import Sampling, Serving
from engine.loop.drafting.acceptance import DRAFT_STREAM, verify
from engine.loop.drafting.prompt_lookup import continuation
from engine.loop.policy import Policy
from engine.loop.request import Request, RequestError, SamplingParams
from engine.loop.sampler import choose, distribution, draw, uniform
from engine.loop.sequence import Draft
from tests.engine.loop.doubles import MockRunner, mock_engine


def never(_token, _n):
    return False


def test_the_latest_earlier_place_of_the_longest_ending_is_looked_up():
    assert continuation([1, 2, 3, 9, 1, 2, 3], 2) == [9, 1]
    assert continuation([5, 1, 2, 7, 4, 2, 8, 1, 2], 3) == [7, 4, 2], "the longer match wins over the later one"
    assert continuation([2, 7, 2, 8, 2], 1) == [8]
    assert continuation([1, 2, 3], 4) == []
    assert continuation([6, 6, 6], 4) == [6]


@given(st.lists(st.integers(0, 3), min_size=1, max_size=30), st.integers(1, 5))
def test_what_is_looked_up_did_follow_the_same_ending_before(tokens, n):
    found = continuation(tokens, n)
    assert len(found) <= n
    if found:
        assert any(tokens[i : i + 1 + len(found)] == [tokens[-1], *found] for i in range(len(tokens) - 1))
    else:
        assert tokens[-1] not in tokens[:-1]


def rows(n, seed=0, vocab=6):
    return np.random.default_rng(seed).normal(size=(n, vocab)).astype(np.float32) * 2


@pytest.mark.parametrize(
    "sampling", [Sampling(), Sampling(temperature=0.8, seed=5), Sampling(temperature=1.0, top_k=3)]
)
@pytest.mark.parametrize("n_right", range(5))
def test_a_looked_up_draft_stands_if_it_is_the_token_that_comes_anyway(sampling, n_right):
    logits = rows(5)
    anyway = [choose(row, sampling, 10 + place) for place, row in enumerate(logits)]
    drafts = [Draft(token) for token in anyway[:4]]
    if n_right < 4:
        drafts[n_right] = Draft((anyway[n_right] + 1) % 6)
    assert verify(logits, drafts, sampling, 10, never) == anyway[: n_right + 1]


def test_nothing_is_taken_after_the_token_that_ends_the_run():
    logits = rows(4)
    best = [int(row.argmax()) for row in logits]
    ended = verify(logits, [Draft(token) for token in best[:3]], Sampling(), 0, lambda _token, n: n == 2)
    assert ended == best[:2]


def drawn_from_a_draft_model(logits, q_logits, sampling):
    """One token as a pass with one drawn draft gives it, and whether the draft stood."""
    odds = distribution(q_logits, sampling)
    draft = Draft(draw(odds, uniform(sampling.seed, 7, DRAFT_STREAM)), odds)
    taken = verify(np.stack([logits, logits]), [draft], sampling, 7, never)
    return taken[0], len(taken) == 2


@pytest.mark.parametrize("truncation", [{}, {"top_k": 3}, {"top_p": 0.8}])
def test_a_drawn_draft_leaves_the_distribution_as_it_is(truncation):
    """5,000 seeds: the chi-square statistic over six tokens against the model's own odds, and the share of drafts that
    stand against the overlap of the two distributions, sum of min(p, q)."""
    p_logits, q_logits = rows(2, seed=3)
    settings = dict(temperature=1.0, **truncation)
    p, q = (distribution(row, Sampling(**settings)) for row in (p_logits, q_logits))
    n = 5_000
    results = [drawn_from_a_draft_model(p_logits, q_logits, Sampling(seed=seed, **settings)) for seed in range(n)]
    counts = np.bincount([token for token, _ in results], minlength=6)
    possible = p > 0
    assert counts[~possible].sum() == 0
    chi_square = ((counts - n * p)[possible] ** 2 / (n * p)[possible]).sum()
    assert chi_square < 25.7, "five degrees of freedom: more is seen once in ten thousand"
    stood = np.mean([stands for _, stands in results])
    assert stood == pytest.approx(np.minimum(p, q).sum(), abs=4 * 0.5 / np.sqrt(n))


def test_the_streams_of_draws_have_nothing_to_do_with_each_other():
    numbers = [[uniform(seed, 3, stream) for seed in range(4000)] for stream in range(4)]
    for one, other in itertools.combinations(numbers, 2):
        assert abs(np.corrcoef(one, other)[0, 1]) < 0.07


class _Repeats(MockRunner):
    """A model that says the same five letters over and over, so that looking up pays."""

    def logits(self, tokens):
        row = np.full(257, -9.0, dtype=np.float32)
        row[ord("abcde"[len(tokens) % 5])] = 9.0
        return row


def ask(prompt="abcdeabcde", new=17, **serving):
    return Request(prompt, SamplingParams(max_new_tokens=new), serving=Serving(**serving))


def test_drafts_save_passes_and_the_record_says_how():
    plain = mock_engine(_Repeats()).run(ask())
    run = mock_engine(_Repeats()).run(ask(drafts="prompt_lookup", n_drafts=3))
    assert run.text == plain.text
    assert len(plain.passes) == 17
    assert [len(p.emitted) for p in run.passes] == [1, 4, 4, 4, 4]
    decode = run.passes[1]
    assert (decode.drafted, decode.accepted, len(decode.token_ids)) == (3, 3, 4)
    assert [p.positions_held for p in run.passes] == [10, 14, 18, 22, 26]
    assert run.header.serving == Serving(drafts="prompt_lookup", n_drafts=3)


@pytest.mark.parametrize("new", range(1, 9))
def test_never_more_tokens_than_asked_for(new):
    run = mock_engine(_Repeats()).run(ask(new=new, drafts="prompt_lookup", n_drafts=3))
    assert len(run.emissions) == new
    assert run.passes[-1].positions_held == 10 + new - 1, "law 2"
    assert run.end.reason == "length"


class _Slips(_Repeats):
    """And now and then it says something else, which no earlier place foretells."""

    def logits(self, tokens):
        row = super().logits(tokens)
        row[ord("z")] = 99.0 if len(tokens) % 7 == 0 else -9.0
        return row


def test_a_rejected_draft_is_on_the_record_and_not_in_memory():
    run = mock_engine(_Slips()).run(ask(drafts="prompt_lookup", n_drafts=4))
    assert run.text == mock_engine(_Slips()).run(ask()).text
    rejected = [p for p in run.passes if p.drafted > p.accepted]
    assert rejected
    for one in run.passes:
        reach = one.start_position + len(one.token_ids)
        assert one.positions_held == reach - (one.drafted - one.accepted)
    for earlier, later in itertools.pairwise(run.passes):
        assert later.start_position == earlier.positions_held


def test_drafts_among_others_change_nobody():
    engine = mock_engine(_Repeats(), policy=Policy(max_running=3))
    logs = [engine.submit(ask(drafts=kind)) for kind in ("none", "prompt_lookup", "prompt_lookup")]
    while engine.step():
        pass
    assert len({log.run.text for log in logs}) == 1


@pytest.mark.parametrize(
    ("serving", "says"),
    [
        ({"drafts": "model"}, "No draft model"),
        ({"drafts": "oracle"}, "drafts must be one of"),
        ({"drafts": "prompt_lookup", "n_drafts": 0}, "n_drafts"),
        ({"cache": "recomputed", "drafts": "prompt_lookup"}, "need the cache"),
        ({"cache": "recomputed", "reuse_prefix": True}, "need the cache"),
        ({"cache": "gone"}, "cache must be one of"),
    ],
)
def test_what_cannot_be_served_so_is_refused_in_words(serving, says):
    with pytest.raises(RequestError, match=says):
        mock_engine().run(ask(**serving))
