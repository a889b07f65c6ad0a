"""Summaries of hand-made runs whose every percentile can be checked by eye."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.account.distribution import Bucket, Distribution, bucket_of
from engine.account.goodput import Limits
from engine.account.record import Admitted, End, Error, Preempted, Queued, Run, Serving
from engine.account.service import service_report
from engine.account.step_record import Share, StepRow, Wait
from engine.account.work import work
from tests.engine.builders import header, run_of
from tests.engine.hand_made import decode, numbered, step

MS = 1_000_000


def two_tokens(ttft_ms: int, gap_ms: int = 1, prompt: str = "hello") -> Run:
    return run_of([(0, ttft_ms * MS), (ttft_ms * MS, (ttft_ms + gap_ms) * MS)], prompt)


def test_percentiles_of_a_hundred_requests_are_the_values_in_those_places():
    report = service_report([two_tokens(ms) for ms in range(100, 0, -1)])
    ttft = report.finished.latencies.ttft_ns
    assert (ttft.n, ttft.p50, ttft.p90, ttft.p99) == (100, 50 * MS, 90 * MS, 99 * MS)
    assert (ttft.min, ttft.max, ttft.mean) == (1 * MS, 100 * MS, 50.5 * MS)
    assert report.endings == {"length": 100}


def test_without_values_everything_but_the_count_is_blank():
    assert Distribution.of([]) == Distribution(0, None, None, None, None, None, None)
    report = service_report([])
    assert report.finished.latencies.ttft_ns == Distribution(0)
    assert (report.throughput.output_tokens_per_s, report.goodput.share, report.starved.worst_ttft_ns) == (None,) * 3
    assert report.steps is None
    assert (report.by_length, report.finished.by_shared, report.finished.by_in_flight) == ([], [], [])


@given(st.lists(st.tuples(st.integers(0, 10**9), st.integers(1, 10**9), st.integers(1, 10**9)), min_size=1))
def test_sums_of_the_parts_are_the_whole_for_any_runs(spans):
    runs = [run_of([(queue, queue + fill), (queue + fill, queue + fill + gap)]) for queue, fill, gap in spans]
    told = service_report(runs).finished.latencies
    assert told.ttft_ns.mean * told.ttft_ns.n == pytest.approx(
        told.queue_ns.mean * told.queue_ns.n + told.prefill_ns.mean * told.prefill_ns.n
    )
    assert told.e2e_ns.mean * len(runs) == pytest.approx(
        told.ttft_ns.mean * len(runs) + told.itl_ns.mean * told.itl_ns.n
    )
    assert told.ttft_ns.min <= told.ttft_ns.p50 <= told.ttft_ns.p90 <= told.ttft_ns.p99 <= told.ttft_ns.max


def test_prompt_lengths_are_grouped_and_every_run_is_in_one_group():
    runs = [two_tokens(1, prompt="x" * n) for n in (1, 32, 33, 128, 129, 600)]
    report = service_report(runs)
    assert [(one.prompt_tokens.name, one.group.n) for one in report.by_length] == [
        ("1 to 32", 2),
        ("33 to 128", 2),
        ("129 to 512", 1),
        ("513 to 2,048", 1),
    ]
    assert bucket_of(9000, (10, 20)) == Bucket(21, None)
    assert bucket_of(9000, (10, 20)).name == "21 and more"


def test_steps_and_gaps_are_told_by_how_many_shared_the_pass():
    run = numbered([
        header(),
        step(0, 5, 0, 10, emits=1, shared_by=4),
        decode(5, 10, 30, shared_by=1),
        decode(6, 40, 45, shared_by=2),
        decode(7, 45, 52, shared_by=2),
        End(0, "length", 52),
    ])  # fmt: skip
    told = {one.shared_by.name: one for one in service_report([run]).finished.by_shared}
    assert list(told) == ["1", "2"]
    assert (told["2"].decode_step_ns.n, told["2"].decode_step_ns.min, told["2"].decode_step_ns.max) == (2, 5, 7)
    assert (told["2"].itl_ns.min, told["2"].itl_ns.max) == (7, 15)
    assert told["1"].itl_ns.p50 == 20


def test_first_tokens_are_told_by_how_many_were_there_at_arrival():
    def after(ahead, ttft):
        return numbered([header(), Queued(0, 0, ahead), Queued(0, 1, 0), *run_of([(0, ttft)]).events[2:]])

    told = service_report([after(0, 10), after(7, 80), after(8, 90)]).finished.by_in_flight
    assert [(one.others.low, one.ttft_ns.n, one.ttft_ns.max) for one in told] == [(0, 1, 10), (5, 2, 90)]


def test_a_reused_prefix_is_neither_prompt_throughput_nor_prefill_speed():
    run = numbered([
        header("x" * 100),
        Admitted(0, 0, reused_positions=90),
        step(90, 10, 0, 1_000_000_000, emits=1),
        End(0, "length", 1_000_000_000),
    ])  # fmt: skip
    report = service_report([run], window_ns=2_000_000_000)
    assert (report.work.prompt_positions, report.work.reused_positions, report.work.sought_positions) == (10, 90, 100)
    assert report.throughput.prompt_tokens_per_s == 5
    assert report.finished.latencies.prompt_speed.p50 == 10
    assert report.work.recomputed_positions == 0


def test_what_a_preemption_undid_is_counted_apart_and_does_not_speed_up_prefill():
    run = numbered([
        header("x" * 10),
        Admitted(0, 0),
        step(0, 10, 0, 1_000_000_000, emits=1),
        decode(10, 1_000_000_000, 1_100_000_000),
        Preempted(0, 1_100_000_000, 11),
        Admitted(0, 2_000_000_000),
        step(0, 12, 2_000_000_000, 3_000_000_000, emits=1),
        End(0, "length", 3_000_000_000),
    ])  # fmt: skip
    done = work(run)
    assert (done.prompt_positions, done.recomputed_positions, done.preemptions) == (10, 11, 1)
    assert (done.sought_positions, done.reused_positions) == (0, 0)
    report = service_report([run], window_ns=3_000_000_000)
    assert report.finished.latencies.prompt_speed.p50 == 10
    assert report.throughput.output_tokens_per_s == 1
    assert report.starved.worst_gap_ns == 1_900_000_000


def test_a_prompt_preempted_in_its_middle_is_still_one_prompt():
    run = numbered([
        header("x" * 10),
        Admitted(0, 0, reused_positions=0),
        step(0, 6, 0, 10),
        Preempted(0, 10, 6),
        Admitted(0, 20, reused_positions=4),
        step(4, 6, 20, 40, emits=1),
    ])  # fmt: skip
    assert (work(run).prompt_positions, work(run).recomputed_positions) == (10, 2)


def test_without_a_cache_the_repeated_prefix_is_no_throughput():
    recomputes = msgspec.structs.replace(header("x" * 10), serving=Serving(cache="recomputed"))
    passes = [step(0, 10, 0, 10, emits=1), step(0, 11, 10, 20, emits=1), step(0, 12, 20, 30, emits=1)]
    done = work(numbered([recomputes, *passes]))
    assert (done.prompt_positions, done.repeated_positions, done.recomputed_positions) == (10, 10 + 11, 0)


def test_rejected_drafts_are_not_work_done_again():
    run = numbered([
        header("x" * 5),
        step(0, 5, 0, 10, emits=1),
        step(5, 5, 10, 20, phase="decode", emits=2, drafted=4, accepted=1),
        step(7, 3, 20, 30, phase="decode", emits=3, drafted=2, accepted=2),
    ])  # fmt: skip
    done = work(run)
    assert (done.draft_passes, done.drafted_tokens, done.accepted_tokens, done.output_tokens) == (2, 6, 3, 6)
    assert done.recomputed_positions == 0
    assert done.prompt_positions == 5


def ended(run: Run, last) -> Run:
    return numbered([*run.events[:-1], last])


def test_cancelled_and_failed_runs_are_counted_and_stay_out_of_the_latencies():
    cancelled = ended(two_tokens(500), End(0, "cancelled", 501 * MS))
    failed = ended(two_tokens(700), Error(0, "engine_failed", "It broke.", 701 * MS))
    unfinished = run_of([(0, 900 * MS)], ended=False)
    report = service_report([two_tokens(10), cancelled, failed, unfinished], window_ns=1_000 * MS)
    assert report.endings == {"length": 1, "cancelled": 1, "engine_failed": 1, "unfinished": 1}
    assert (report.finished.n, report.finished.latencies.ttft_ns.max) == (1, 10 * MS)
    # What was computed was computed, whoever left: the throughput is the service's, the latency the user's.
    assert report.work.output_tokens == 2 + 2 + 2 + 1
    assert report.throughput.output_tokens_per_s == 7
    assert report.throughput.finished_per_s == 1


def test_one_starved_user_among_a_thousand_is_seen():
    patient = msgspec.structs.replace(header(), run_id="f" * 32)
    starved = numbered([patient, *two_tokens(60_000).events[1:]])
    report = service_report([two_tokens(10)] * 999 + [starved])
    assert report.finished.latencies.ttft_ns.p99 == 10 * MS
    assert (report.starved.worst_ttft_ns, report.starved.worst_ttft_run) == (60_000 * MS, "f" * 32)
    assert (report.starved.beyond_ttft, report.starved.beyond_ttft_share) == (1, 0.001)


def test_whoever_gave_up_without_a_token_counts_as_starved_although_there_is_no_latency():
    left = numbered([header(), Queued(0, 0, 3), End(0, "cancelled", 9_000 * MS)])
    soon = numbered([header(), Queued(0, 0, 3), End(0, "cancelled", 5 * MS)])
    report = service_report([two_tokens(10), left, soon])
    assert (report.starved.never_served, report.starved.longest_unserved_ns) == (2, 9_000 * MS)
    assert report.starved.beyond_ttft == 1
    # Who left at once was neither served well nor badly.
    assert (report.goodput.judged, report.goodput.good) == (2, 1)


def test_goodput_needs_both_limits_and_a_refusal_is_a_miss():
    limits = Limits(ttft_ns=100 * MS, tpot_ns=20 * MS)
    good, late, slow = two_tokens(100, 20), two_tokens(101, 1), two_tokens(5, 21)
    single = run_of([(0, 50 * MS)])
    told = service_report([good, late, slow, single], window_ns=4_000 * MS, limits=limits, refused=1).goodput
    assert (told.judged, told.good, told.share, told.good_per_s) == (5, 2, 0.4, 0.5)


def rows():
    both = [Share(1, "decode", 1, emitted=1), Share(2, "prefill", 64)]
    alone = [Share(1, "decode", 3, drafted=2, emitted=2)]
    return [
        StepRow(0, 1_000, 5_000, 100, both, [Wait(3, "the step is full")], 4, 8, 2, 4),
        StepRow(1, 5_100, 6_100, 100, alone, [Wait(3, "the step is full")], 6, 8, 2, 4, preempted=[2]),
    ]


def test_steps_are_counted_once_and_the_scheduler_s_share_is_known():
    told = service_report([], rows()).steps
    assert told.n == 2
    assert [(one.shared_by.low, one.decode_only_ns.n, one.with_prefill_ns.n) for one in told.by_shared] == [
        (1, 1, 0),
        (2, 0, 1),
    ]
    assert (told.tokens.min, told.tokens.max) == (3, 65)
    assert told.planning_share == 200 / 5_200
    assert (told.preemptions, told.waits, told.peak_pages) == (1, {"the step is full": 2}, 6)


def test_the_window_is_that_of_the_steps_unless_another_is_given():
    assert service_report([two_tokens(1)], rows()).throughput.window_ns == 6_100 - 900
    assert service_report([two_tokens(1)], rows(), window_ns=7).throughput.window_ns == 7
    assert service_report([two_tokens(1)]).throughput.output_tokens_per_s is None


def test_a_report_is_json_and_comes_back_the_same():
    from engine.account.service import ServiceReport

    report = service_report([two_tokens(1)], rows())
    assert msgspec.json.decode(msgspec.json.encode(report), type=ServiceReport) == report


def test_a_simulated_service_goes_through_the_same_report_and_says_that_it_is_simulated():
    from engine.loop.arrivals import Arrival
    from tests.engine.loop.test_simulator import simulate

    # By hand: the first prompt takes 0 to 140 ns; a request that came at 50 waits for it, and shares the next steps.
    done = simulate([Arrival(0, 5, 3), Arrival(50, 2, 2)])
    report = service_report(done.runs, done.rows)
    assert report.evidence == ["simulated"]
    assert [(one.others.low, one.ttft_ns.max) for one in report.finished.by_in_flight] == [(0, 140), (1, 200)]
    assert (report.steps.n, report.throughput.window_ns) == (3, 350)
    assert (report.work.prompt_positions, report.work.output_tokens) == (7, 5)
    assert report.finished.latencies.queue_ns.max == 90
