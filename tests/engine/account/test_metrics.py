"""Timings of hand-made runs: every number can be checked by eye."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from engine.account.metrics import percentile, timings
from engine.account.record import Error, Run
from tests.engine.builders import header, one_pass, run_of

MS = 1_000_000


def test_the_timings_of_a_run_of_four_tokens():
    run = run_of([(2 * MS, 12 * MS), (13 * MS, 15 * MS), (15 * MS, 18 * MS), (19 * MS, 24 * MS)])
    t = timings(run)
    assert (t.queue_ns, t.prefill_ns, t.ttft_ns) == (2 * MS, 10 * MS, 12 * MS)
    assert t.itl_ns == (3 * MS, 3 * MS, 6 * MS)
    assert (t.itl_p50_ns, t.itl_p95_ns) == (3 * MS, 6 * MS)
    assert t.tpot_ns == 4 * MS
    assert t.e2e_ns == 24 * MS
    assert t.prompt_tokens_per_s == 5 / 0.010
    assert t.output_tokens_per_s == 250
    assert (t.n_passes, t.n_decode_passes) == (4, 3)


def test_one_token_has_no_gap_no_tpot_and_no_output_speed_rather_than_zero():
    t = timings(run_of([(1, 5)]))
    assert t.itl_ns == ()
    assert (t.itl_p50_ns, t.itl_p95_ns, t.tpot_ns, t.output_tokens_per_s) == (None, None, None, None)
    assert t.e2e_ns == t.ttft_ns == 5


def test_a_run_that_never_began_leaves_everything_blank():
    for run in (run_of([], ended=False), Run([header(), Error(1, "engine_failed", "broken")])):
        t = timings(run)
        assert t.n_passes == 0
        assert (t.queue_ns, t.prefill_ns, t.ttft_ns, t.tpot_ns, t.e2e_ns, t.prompt_tokens_per_s) == (None,) * 6


def test_a_prompt_in_chunks_counts_all_chunks_as_prefill():
    chunks = [one_pass(1, 0, 10, 20, n_in=4, emits=False), one_pass(2, 1, 20, 40, n_in=4), one_pass(3, 2, 40, 45)]
    t = timings(Run([header(), *chunks]))
    assert (t.queue_ns, t.prefill_ns, t.ttft_ns) == (10, 30, 40)
    assert t.prompt_tokens_per_s == 8 * 1e9 / 30


@given(st.lists(st.integers(1, 10**12), min_size=2, max_size=60).map(sorted))
def test_law_5_holds_to_the_nanosecond_for_any_run(instants):
    spans = list(pairwise(instants))
    t = timings(run_of(spans))
    assert t.ttft_ns == t.queue_ns + t.prefill_ns
    assert t.e2e_ns == t.ttft_ns + sum(t.itl_ns)
    if len(spans) > 1:
        last, first = spans[-1][1], spans[0][1]
        assert t.tpot_ns == (last - first) / (len(spans) - 1)
    else:
        assert t.tpot_ns is None


@given(st.lists(st.integers(0, 1000), min_size=1), st.sampled_from([1, 50, 90, 95, 99, 100]))
def test_a_percentile_is_a_measured_value_with_enough_values_at_or_below_it(values, percent):
    chosen = percentile(values, percent)
    below = sum(value <= chosen for value in values)
    assert chosen in values
    assert below >= len(values) * percent / 100
    smaller = [value for value in values if value < chosen]
    assert len(smaller) < len(values) * percent / 100
