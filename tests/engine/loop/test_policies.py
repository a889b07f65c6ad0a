"""What each policy lets happen in a step, and what no policy may do: lose someone, starve someone, break its bounds."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.account.record import Serving
from engine.loop.policy import BadPolicy, Policy
from engine.loop.room import Usage
from engine.loop.scheduler import BUDGET, FULL_BATCH, NO_MEMORY, PROMPTS_FIRST, STATIC_BATCH, Scheduler
from engine.loop.sequence import Draft, Sequence

POLICIES = ("continuous", "decode_first", "prefill_first", "static")
PAGE = 4


class TinyRoom:
    """A pool of pages and slots, counted: every sequence holds whole pages."""

    def __init__(self, n_pages, n_slots):
        self.n_pages, self.n_slots = n_pages, n_slots
        self.held = {}

    def pages_of(self, positions):
        return -(-positions // PAGE)

    @property
    def used(self):
        return sum(map(self.pages_of, self.held.values()))

    def enter(self, sequence):
        fits = self.used + self.pages_of(len(sequence.tokens)) <= self.n_pages or not self.held
        if len(self.held) == self.n_slots or not fits:
            return False
        self.held[sequence] = 0
        return True

    def reserve(self, sequence, n_tokens):
        base = 0 if sequence.recomputes else sequence.n_held
        wanted = self.used - self.pages_of(self.held[sequence]) + self.pages_of(base + n_tokens)
        if wanted > self.n_pages:
            return False
        self.held[sequence] = base + n_tokens
        return True

    def leave(self, sequence):
        self.held.pop(sequence, None)

    def usage(self):
        return Usage(self.used, self.n_pages, len(self.held), self.n_slots)


def sequence(name, n_prompt=3, new=2, **serving):
    return Sequence(name, list(range(n_prompt)), n_prompt, new, serving=Serving(**serving), ticket=hash(name) % 1000)


def settle(scheduler, plan):
    """Pretend that the plan was computed; no draft is ever right."""
    for part in plan.parts:
        one = part.sequence
        one.advance(part.n_tokens, [7] if part.gives_token else [])
        if one.n_new == one.max_new_tokens:
            scheduler.finish(one)


def shares(plan):
    return [(part.sequence.run_id, part.n_rows, part.phase) for part in plan.parts]


def running_with(policy, *newcomers, room=None):
    """Two decoding sequences, and then those who come."""
    scheduler = Scheduler(room=room)
    for name in "ab":
        scheduler.add(sequence(name, new=20))
    settle(scheduler, scheduler.plan())
    scheduler.policy = policy
    for one in newcomers:
        scheduler.add(one)
    return scheduler


def test_decode_first_cuts_a_long_prompt_so_that_no_decode_waits_for_it():
    scheduler = running_with(Policy("decode_first", chunk=8), sequence("long", n_prompt=20))
    steps = []
    for _ in range(4):
        plan = scheduler.plan()
        steps.append(shares(plan))
        settle(scheduler, plan)
    decodes = [("a", 1, "decode"), ("b", 1, "decode")]
    assert steps == [
        [*decodes, ("long", 8, "prefill")],
        [*decodes, ("long", 8, "prefill")],
        [*decodes, ("long", 4, "prefill")],
        [*decodes, ("long", 1, "decode")],
    ]


def test_the_chunk_is_a_bound_for_all_prompts_of_a_step_together():
    scheduler = running_with(Policy("decode_first", chunk=8), sequence("x", n_prompt=5), sequence("y", n_prompt=5))
    plan = scheduler.plan()
    assert shares(plan)[2:] == [("x", 5, "prefill"), ("y", 3, "prefill")]


def test_nobody_cuts_a_prompt_that_is_alone():
    scheduler = Scheduler(Policy("decode_first", chunk=8))
    scheduler.add(sequence("long", n_prompt=100))
    assert shares(scheduler.plan()) == [("long", 100, "prefill")]


def test_without_chunks_a_prompt_comes_in_whole_beside_the_decodes():
    scheduler = running_with(Policy("continuous", chunk=None), sequence("long", n_prompt=100))
    assert shares(scheduler.plan())[2] == ("long", 100, "prefill")


def test_prefill_first_makes_the_decodes_stand_still_and_says_so():
    scheduler = running_with(Policy("prefill_first"), sequence("long", n_prompt=100))
    plan = scheduler.plan()
    assert shares(plan) == [("long", 100, "prefill")]
    assert [wait.reason for wait in plan.waiting] == [PROMPTS_FIRST] * 2
    settle(scheduler, plan)
    assert [phase for _, _, phase in shares(scheduler.plan())] == ["decode"] * 3


def test_a_static_batch_lets_nobody_join_until_its_last_member_has_ended():
    scheduler = running_with(Policy("static"), sequence("late"))
    for _ in range(19):
        plan = scheduler.plan()
        assert {name for name, _, _ in shares(plan)} == {"a", "b"}
        assert [wait.reason for wait in plan.waiting] == [STATIC_BATCH]
        settle(scheduler, plan)
    assert shares(scheduler.plan()) == [("late", 3, "prefill")]


def test_the_budget_bounds_a_step_and_whoever_got_nothing_is_named():
    scheduler = running_with(Policy("continuous", token_budget=3), sequence("c", n_prompt=5), sequence("d"))
    plan = scheduler.plan()
    assert shares(plan) == [("a", 1, "decode"), ("b", 1, "decode"), ("c", 1, "prefill")]
    assert [wait.reason for wait in plan.waiting] == [BUDGET]


def test_a_full_batch_and_a_full_memory_are_told_apart():
    full = running_with(Policy(max_running=2), sequence("c"))
    assert [wait.reason for wait in full.plan().waiting] == [FULL_BATCH]
    tight = running_with(Policy(), sequence("c", n_prompt=9), room=TinyRoom(n_pages=4, n_slots=9))
    assert [wait.reason for wait in tight.plan().waiting] == [NO_MEMORY]


def test_when_pages_run_out_the_youngest_gives_its_own_back_and_starts_over():
    scheduler, room = Scheduler(Policy(), TinyRoom(n_pages=3, n_slots=9)), None
    room = scheduler.room
    old, young = sequence("old", n_prompt=4, new=6), sequence("young", n_prompt=3, new=6)
    scheduler.add(old)
    scheduler.add(young)
    settle(scheduler, scheduler.plan())
    settle(scheduler, scheduler.plan())  # old fills its second page: all three are taken
    plan = scheduler.plan()
    assert plan.preempted == [(young, 4)]
    assert [name for name, _, _ in shares(plan)] == ["old"]
    assert (young.n_held, young.n_refill, young.phase) == (0, 5, "prefill")
    assert young not in room.held
    settle(scheduler, plan)
    while old in scheduler.running:
        settle(scheduler, scheduler.plan())
    assert shares(scheduler.plan()) == [("young", 5, "prefill")], "what it had generated is part of the prompt now"


def test_drafts_take_room_in_the_budget_and_count_as_tokens_of_the_step():
    scheduler = running_with(Policy(token_budget=5))
    for one in scheduler.running:
        one.drafts = [Draft(1), Draft(2), Draft(3)]
    plan = scheduler.plan()
    assert shares(plan) == [("a", 4, "decode"), ("b", 1, "decode")]
    assert (plan.n_tokens, plan.n_logits) == (5, 5)


def test_a_sequence_that_recomputes_takes_its_whole_prefix_in_every_step():
    scheduler = Scheduler(Policy(chunk=2))
    scheduler.add(sequence("again", n_prompt=5, new=3, cache="recomputed"))
    seen = []
    for _ in range(3):
        plan = scheduler.plan()
        seen += shares(plan)
        settle(scheduler, plan)
    assert seen == [("again", 5, "prefill"), ("again", 6, "decode"), ("again", 7, "decode")]


@pytest.mark.parametrize("wrong", [{"max_running": 0}, {"token_budget": 0}, {"chunk": 0}])
def test_a_bound_that_no_step_could_keep_is_refused_by_name(wrong):
    with pytest.raises(BadPolicy, match=next(iter(wrong))):
        Policy(**wrong)


requests = st.lists(
    st.tuples(st.integers(1, 12), st.integers(1, 8), st.integers(0, 12), st.sampled_from(["kept", "recomputed"])),
    min_size=1,
    max_size=12,
)


@settings(max_examples=60)
@given(
    requests,
    st.sampled_from(POLICIES),
    st.integers(1, 5),
    st.integers(1, 20),
    st.none() | st.integers(1, 6),
    st.integers(5, 12),
    st.integers(1, 4),
    st.sets(st.integers(0, 11)),
)
def test_whatever_comes_everyone_is_served_in_the_end(asks, name, running, budget, chunk, pages, slots, cancelled):
    """Any mix of requests, policies and tiny pools: each step does something, nobody holds two places, the pool is
    never overdrawn, and all who were not cancelled get all their tokens."""
    room = TinyRoom(pages, slots)
    scheduler = Scheduler(Policy(name, running, budget, chunk), room)
    everyone = [sequence(str(i), prompt, new, cache=cache) for i, (prompt, new, _, cache) in enumerate(asks)]
    arrivals = sorted(zip((at for _, _, at, _ in asks), range(len(asks)), strict=True))
    for step in range(3000):
        while arrivals and arrivals[0][0] <= step:
            scheduler.add(everyone[arrivals.pop(0)[1]])
        if step == 6:
            for i in cancelled & set(range(len(everyone))):
                everyone[i].cancelled = True
        plan = scheduler.plan()
        rows = scheduler.rows()
        assert plan.parts or not rows, "somebody is here and the step does nothing"
        assert len({part.sequence for part in plan.parts}) == len(plan.parts) <= running
        assert plan.n_tokens <= budget or len(plan.parts) == 1
        assert room.used <= pages
        assert len(room.held) <= slots
        assert set(room.held) == set(scheduler.running)
        assert len(plan.parts) + len(plan.waiting) == len(rows)
        settle(scheduler, plan)
        if not arrivals and not scheduler.rows():
            break
    assert not scheduler.rows()
    assert not room.held
    for one in everyone:
        assert one.n_new == one.max_new_tokens or one.cancelled


@given(st.sampled_from(POLICIES), st.integers(5, 30))
def test_a_stream_of_newcomers_never_keeps_an_older_request_from_its_end(name, pages):
    scheduler = Scheduler(Policy(name, 4, 8, 4), TinyRoom(pages, 4))
    first = sequence("first", n_prompt=9, new=6)
    scheduler.add(first)
    for step in range(400):
        scheduler.add(sequence(str(step), n_prompt=3, new=3))
        settle(scheduler, scheduler.plan())
        if first.n_new == 6:
            return
    pytest.fail("the first request was starved")
