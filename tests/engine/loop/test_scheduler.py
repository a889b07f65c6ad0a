"""Who runs when: all in plain Python, and only that."""

import subprocess
import sys

import pytest

from engine.loop.policy import Policy
from engine.loop.scheduler import Scheduler
from engine.loop.sequence import Sequence

ONE = Policy(max_running=1)


def sequence(name, n_prompt=3, new=2):
    return Sequence(name, list(range(n_prompt)), n_prompt, new)


def names(plan):
    return [(part.sequence.run_id, part.n_tokens, part.phase) for part in plan.parts]


def step(scheduler):
    """Plan, pretend to compute, and let everyone finish who has all its tokens; returns who took part."""
    plan = scheduler.plan()
    for part in plan.parts:
        took_part = part.sequence
        took_part.advance(part.n_tokens, [7])
        if took_part.n_new == took_part.max_new_tokens:
            scheduler.finish(took_part)
    return names(plan)


def test_the_scheduler_needs_no_torch_and_no_numpy():
    code = "import sys, engine.loop.scheduler; print(sorted({'torch', 'numpy'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_one_request_is_one_prefill_and_a_decode_for_each_further_token():
    scheduler = Scheduler(ONE)
    scheduler.add(sequence("a", n_prompt=8, new=10))
    steps = [step(scheduler) for _ in range(11)]
    assert steps == [[("a", 8, "prefill")], *[[("a", 1, "decode")]] * 9, []]


def test_requests_are_served_one_after_another_in_order_of_arrival():
    scheduler = Scheduler(ONE)
    ahead = [scheduler.add(sequence(name)) for name in "abc"]
    order = [step(scheduler)[0][0] for _ in range(6)]
    assert ahead == [0, 1, 2]
    assert order == list("aabbcc")


def test_who_waits_knows_how_many_are_before_it():
    scheduler = Scheduler(ONE)
    for name in "abc":
        scheduler.add(sequence(name))
    scheduler.plan()
    assert [(s.run_id, before) for s, before in scheduler.waiting()] == [("b", 1), ("c", 2)]
    assert scheduler.add(sequence("d")) == 3


def test_the_table_shows_phase_and_progress_but_not_whose():
    scheduler = Scheduler(ONE)
    scheduler.add(sequence("a"))
    scheduler.add(sequence("b"))
    assert [row.phase for row in scheduler.rows()] == [None, None]
    scheduler.plan()
    first, second = scheduler.rows()
    assert (first.phase, first.prompt_tokens, first.new_tokens, first.positions_held) == ("prefill", 3, 0, 0)
    assert first.waiting_for is None
    assert second.waiting_for == "1 before it"
    step(scheduler)
    assert (scheduler.rows()[0].phase, scheduler.rows()[0].positions_held) == ("decode", 3)
    assert not hasattr(first, "run_id")


@pytest.mark.parametrize("victim", ["a", "b", "c"])
def test_a_cancelled_request_leaves_at_the_next_plan_wherever_it_stood(victim):
    scheduler, everyone = Scheduler(ONE), {name: sequence(name) for name in "abc"}
    for one in everyone.values():
        scheduler.add(one)
    scheduler.plan()
    everyone[victim].cancelled = True
    plan = scheduler.plan()
    assert plan.cancelled == [everyone[victim]]
    assert scheduler.plan().cancelled == []
    served = [part.sequence.run_id for part in plan.parts]
    while scheduler.rows():
        served += [name for name, _, _ in step(scheduler)]
    assert victim not in served
    assert set(served) == set("abc") - {victim}


def test_several_may_share_a_step_prefill_and_decode_together():
    scheduler = Scheduler(Policy(max_running=2))
    scheduler.add(sequence("a", n_prompt=4, new=3))
    step(scheduler)
    scheduler.add(sequence("b", n_prompt=5, new=1))
    scheduler.add(sequence("c"))
    plan = scheduler.plan()
    assert names(plan) == [("a", 1, "decode"), ("b", 5, "prefill")]
    assert (plan.n_tokens, plan.n_logits) == (6, 2)
    assert scheduler.rows()[-1].waiting_for == "2 before it"


def test_a_sequence_never_holds_its_newest_token():
    one = sequence("a")
    one.advance(3, [9])
    assert (one.n_held, one.n_new, one.phase) == (3, 1, "decode")
    with pytest.raises(AssertionError):
        one.advance(1)
