"""The queue as those who wait see it: their place, the wait to expect, and an engine reserved for somebody else."""

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.account.record import Queued
from engine.loop.policy import Policy
from engine.loop.queueing import LEAST_SERVED, Reserved, Served, places, steps_until_in
from engine.loop.request import Request, SamplingParams
from engine.loop.scheduler import NOT_EMPTY, RESERVED, Scheduler
from engine.loop.sequence import Sequence
from tests.engine.loop.doubles import mock_engine


def sequence(name, new=2, *, in_lane=False):
    return Sequence(name, [1, 2, 3], 3, new, in_lane=in_lane)


def step(scheduler):
    plan = scheduler.plan()
    for part in plan.parts:
        part.sequence.advance(part.n_tokens, [7])
        if part.sequence.n_new == part.sequence.max_new_tokens:
            scheduler.finish(part.sequence)
    return [part.sequence.run_id for part in plan.parts]


def ask(new):
    return Request("abc", SamplingParams(max_new_tokens=new, ignore_eos=True))


def served(n, ns_per_token=1_000):
    pace = Served()
    for _ in range(n):
        pace.note(10 * ns_per_token, 10)
    return pace


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=12), st.integers(1, 4))
def test_the_steps_that_one_waits_are_those_that_the_scheduler_then_takes(new, running):
    scheduler = Scheduler(Policy(max_running=running))
    for name, n in enumerate(new):
        scheduler.add(sequence(str(name), n))
    expected = steps_until_in([], new, running)
    seen: dict[str, int] = {}
    for number in range(sum(new)):
        for name in step(scheduler):
            seen.setdefault(name, number)
    assert [seen[str(name)] for name in range(len(new))] == expected


def test_the_wait_is_blank_until_enough_runs_have_ended_and_then_says_from_how_many():
    scheduler = Scheduler(Policy(max_running=1))
    for name in "abc":
        scheduler.add(sequence(name, 10))
    scheduler.plan()
    blank = [place for _, place in places(scheduler, served(LEAST_SERVED - 1), None, 0)]
    assert [one.number for one in blank] == [1, 2]
    assert {(one.expected_wait_ns, one.estimated_from) for one in blank} == {(None, None)}
    told = [place for _, place in places(scheduler, served(5), None, 0)]
    assert [(one.ahead, one.expected_wait_ns, one.estimated_from) for one in told] == [(1, 10_000, 5), (2, 20_000, 5)]


def test_a_real_queue_tells_place_and_wait_in_record_and_table_and_nobody_else_s_text():
    with mock_engine() as engine:
        for _ in range(LEAST_SERVED):
            engine.run(ask(4))
        logs = [engine.submit(ask(4)) for _ in range(3)]
        engine.step()
        rows = engine.batch_table()
        assert [row.place for row in rows] == [None, 1, 2]
        assert rows[1].estimated_from == LEAST_SERVED and 0 < rows[1].expected_wait_ns < rows[2].expected_wait_ns
        while not logs[-1].ended:
            engine.step()
        told = [event for event in logs[-1].run.events if isinstance(event, Queued)]
        assert [(one.ahead, one.place) for one in told] == [(2, 3), (1, 2), (0, 1)]
        # By how much depends on how fast the machine happened to be: the rule itself is tested above, on given times.
        assert [bool(one.expected_wait_ns) for one in told] == [True, True, False]


def test_in_a_reserved_engine_who_was_there_goes_on_the_lane_runs_alone_and_the_rest_follows_in_order():
    scheduler = Scheduler(Policy(max_running=4))
    scheduler.add(sequence("before", 3))
    step(scheduler)
    scheduler.reserve()
    scheduler.add(sequence("other", 1))
    assert scheduler.add(sequence("lane", 2, in_lane=True)) == 1, "only the one that runs is before it"
    assert [row.waiting_for for row in scheduler.rows()] == [None, "the next step", RESERVED]
    assert [wait.reason for wait in scheduler.plan().waiting] == [RESERVED, NOT_EMPTY]
    assert [step(scheduler) for _ in range(5)] == [["before"], ["before"], ["lane"], ["lane"], []]
    scheduler.add(sequence("later", 1))
    (place, _) = (one for _, one in places(scheduler, served(3), Reserved(9_000, "2026"), 2_000))
    assert place.expected_wait_ns == 7_000 and place.reserved_until == "2026"
    scheduler.release()
    assert step(scheduler) == ["other", "later"]


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.sampled_from(["other", "lane", "reserve", "release", "step"]), max_size=60),
    st.sampled_from(["continuous", "decode_first", "prefill_first", "static"]),
    st.integers(1, 3),
)
def test_however_often_it_is_reserved_the_lane_is_alone_and_nobody_is_passed_over_twice(story, policy, running):
    scheduler = Scheduler(Policy(policy, running))
    arrived: list[tuple[str, int]] = []
    started: dict[str, int] = {}
    reservations = 0

    def advance():
        plan = scheduler.plan()
        kinds = {part.sequence.in_lane for part in plan.parts}
        assert not scheduler.reserved or len(kinds) < 2, "a lane's run shares no step with others"
        for part in plan.parts:
            started.setdefault(part.sequence.run_id, reservations)
            part.sequence.advance(part.n_tokens, [7])
            if part.sequence.n_new == part.sequence.max_new_tokens:
                scheduler.finish(part.sequence)
        return bool(plan.parts)

    for what in story:
        if what == "reserve" and not scheduler.reserved:
            scheduler.reserve()
            reservations += 1
        elif what == "release":
            scheduler.release()
        elif what == "step":
            advance()
        elif what == "other" or (what == "lane" and scheduler.reserved):
            name = str(len(arrived))
            arrived.append((name, reservations))
            scheduler.add(sequence(name, 2, in_lane=what == "lane"))
    # A last reservation that never ends: everybody who came before it is served all the same.
    scheduler.release()
    scheduler.reserve()
    while advance():
        pass
    assert set(started) == {name for name, _ in arrived}
    assert scheduler.rows() == []
