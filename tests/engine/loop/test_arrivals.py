import statistics

import numpy as np
import pytest

from engine.loop import arrivals
from engine.loop.arrivals import BURST, LENGTHS, BadLoad, fixed, instants, load


def test_the_same_seed_brings_the_same_load_and_another_seed_another():
    first = load("poisson", 5.0, 50, LENGTHS["chat"], context_length=2048, seed=3)
    assert first == load("poisson", 5.0, 50, LENGTHS["chat"], context_length=2048, seed=3)
    assert first != load("poisson", 5.0, 50, LENGTHS["chat"], context_length=2048, seed=4)


def test_another_rate_brings_the_same_requests_at_other_times():
    slow = load("poisson", 1.0, 20, LENGTHS["code"], context_length=4096, seed=1)
    fast = load("poisson", 10.0, 20, LENGTHS["code"], context_length=4096, seed=1)
    assert [one[1:] for one in slow] == [one[1:] for one in fast]
    for one, other in zip(slow, fast, strict=True):
        assert one.at_ns == pytest.approx(10 * other.at_ns, abs=10)


@pytest.mark.parametrize("process", ["poisson", "constant", "bursts"])
def test_instants_ascend_and_come_at_the_rate_asked_for(process):
    at = instants(process, 20.0, 4000, np.random.default_rng(0))
    assert at == sorted(at)
    assert at[0] > 0
    assert 4000 / (at[-1] / 1e9) == pytest.approx(20.0, rel=0.1)


def test_poisson_gaps_are_exponential_constant_ones_equal_and_bursts_come_together():
    rng = np.random.default_rng(0)
    gaps = np.diff(instants("poisson", 1.0, 5000, rng))
    assert gaps.std() / gaps.mean() == pytest.approx(1.0, abs=0.05)
    assert set(np.diff(instants("constant", 4.0, 10, rng))) == {250_000_000}
    bursts = instants("bursts", 10.0, 3 * BURST, rng)
    assert [len(set(bursts[i : i + BURST])) for i in range(0, len(bursts), BURST)] == [1, 1, 1]
    assert len(set(bursts)) == 3


@pytest.mark.parametrize(
    ("name", "prompt", "reply"), [("chat", (1020, 1155), (129, 211)), ("code", (1500, 2048), (13, 28))]
)
def test_lengths_have_the_published_median_and_mean(name, prompt, reply):
    pairs = LENGTHS[name].draw(40_000, np.random.default_rng(0), 10**9)
    for values, (median, mean) in zip(zip(*pairs, strict=True), (prompt, reply), strict=True):
        assert statistics.median(values) == pytest.approx(median, rel=0.04)
        assert statistics.mean(values) == pytest.approx(mean, rel=0.04)


def test_lengths_are_cut_to_a_small_context_and_leave_a_reply_room():
    for prompt, reply in LENGTHS["chat"].draw(500, np.random.default_rng(0), 256):
        assert prompt >= 1
        assert 1 <= reply <= 128
        assert prompt + reply <= 256


@pytest.mark.parametrize(
    ("rate", "n", "process"),
    [(0.0, 5, "poisson"), (-1.0, 5, "poisson"), (float("nan"), 5, "constant"), (1.0, -1, "bursts")],
)
def test_a_load_that_cannot_be_is_refused(rate, n, process):
    with pytest.raises(BadLoad):
        instants(process, rate, n, np.random.default_rng(0))


def test_an_unknown_process_is_refused_by_name():
    with pytest.raises(BadLoad, match="'tides'"):
        instants("tides", 1.0, 1, np.random.default_rng(0))
    with pytest.raises(BadLoad, match="new token"):
        fixed(8, 0)
    with pytest.raises(BadLoad, match="two positions"):
        fixed(8, 1).draw(1, np.random.default_rng(0), 1)


def test_every_set_of_lengths_names_its_source():
    assert all(lengths.name == name and lengths.source for name, lengths in LENGTHS.items())
    assert "Azure" in arrivals.LENGTHS["chat"].source
