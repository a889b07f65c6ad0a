"""Pages that several sequences own, states that are copied, and checkpoints that join the two."""

import pytest
import torch
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from engine.memory.errors import OutOfMemory
from engine.memory.memory import Memory
from engine.memory.pages import PAGE_SIZE, KVPages
from engine.memory.prefix import MIN_BRANCH, PrefixCache
from engine.memory.slots import StateSlots


def new_memory(n_pages=8, n_slots=4):
    return Memory(KVPages(1, 1, 2, n_pages, torch.float32), StateSlots(1, n_slots, 1, 2, 2, 3, 4))


def write(memory, holding, count, value):
    """Extend, and put `value` where a pass would put the new positions' keys."""
    start = memory.extend(holding, count)
    for p in range(start, start + count):
        memory.pages.keys[0, 0, holding.pages[p // PAGE_SIZE], p % PAGE_SIZE] = value
    memory.slots.states[:, holding.slot] = value


def keys(memory, holding):
    rows = memory.pages.keys[0, 0, holding.pages].reshape(-1, 2)
    return rows[: holding.length, 0].tolist()


def test_a_fork_shares_pages_and_copies_the_state():
    memory = new_memory()
    one = memory.open()
    write(memory, one, PAGE_SIZE + 3, 1.0)
    two = memory.fork(one)
    assert two.pages == one.pages
    assert two.slot != one.slot
    memory.slots.states[:, one.slot] = 5.0
    assert (memory.slots.states[:, two.slot] == 1.0).all()
    memory.check_integrity()


def test_whoever_writes_into_a_shared_page_writes_into_a_copy():
    memory = new_memory()
    one = memory.open()
    write(memory, one, PAGE_SIZE + 3, 1.0)
    two = memory.fork(one)
    write(memory, one, 2, 7.0)
    write(memory, two, 2, 9.0)
    assert keys(memory, one) == [1.0] * (PAGE_SIZE + 3) + [7.0] * 2
    assert keys(memory, two) == [1.0] * (PAGE_SIZE + 3) + [9.0] * 2
    assert one.pages[0] == two.pages[0]
    assert one.pages[1] != two.pages[1]
    memory.check_integrity()


def test_a_full_shared_page_needs_no_copy():
    memory = new_memory()
    one = memory.open()
    write(memory, one, PAGE_SIZE, 1.0)
    two = memory.fork(one)
    write(memory, two, 1, 9.0)
    assert memory.pages.n_free == 8 - 2
    memory.check_integrity()


def test_when_there_is_no_page_for_the_copy_nothing_changes():
    memory = new_memory(n_pages=1)
    one = memory.open()
    write(memory, one, 3, 1.0)
    two = memory.fork(one)
    with pytest.raises(OutOfMemory):
        memory.extend(two, 1)
    assert two.length == 3
    memory.check_integrity()


def test_a_shared_page_is_free_only_when_its_last_owner_has_left():
    memory = new_memory()
    one = memory.open()
    write(memory, one, 3, 1.0)
    two = memory.fork(one)
    memory.close(one)
    memory.poison_free()
    assert keys(memory, two) == [1.0] * 3
    memory.close(two)
    assert memory.pages.n_free == 8
    memory.check_integrity()


def test_cutting_back_frees_whole_pages_and_keeps_the_rest():
    memory = new_memory()
    one = memory.open()
    write(memory, one, 3 * PAGE_SIZE, 1.0)
    memory.truncate(one, PAGE_SIZE + 1)
    assert (one.length, len(one.pages)) == (PAGE_SIZE + 1, 2)
    memory.check_integrity()


TEXT = list(range(100, 140))


def cached(memory, tokens, value=1.0, most=3):
    cache = PrefixCache(memory, most)
    one = memory.open()
    write(memory, one, len(tokens), value)
    cache.keep(tokens, one)
    memory.close(one)
    return cache


def test_a_hit_begins_with_pages_and_state_of_the_longest_checkpoint():
    memory = new_memory()
    cache = cached(memory, TEXT[:20])
    longer = memory.open()
    write(memory, longer, 30, 2.0)
    cache.keep(TEXT[:30], longer)
    memory.close(longer)
    hit = cache.open(TEXT)
    assert hit.length == 30
    assert (memory.slots.states[:, hit.slot] == 2.0).all()
    memory.check_integrity()


def test_a_checkpoint_of_the_whole_prompt_is_no_hit_since_nothing_would_be_left_to_compute():
    memory = new_memory()
    assert cached(memory, TEXT).open(TEXT) is None


def test_equal_length_and_other_tokens_is_a_miss():
    """The bug of other engines (vllm tpu-inference 3412): a hit admitted without looking read another's state."""
    memory = new_memory()
    assert cached(memory, TEXT[:20]).open([0, *TEXT[1:]]) is None


def test_the_least_recently_used_checkpoint_goes_first():
    memory = new_memory(n_slots=8)
    cache = cached(memory, [1, 2, 3], most=2)
    for tokens in ([4, 5, 6], [7, 8, 9]):
        assert cache.open([1, 2, 3, 0]) or True
        one = memory.open()
        write(memory, one, 3, 1.0)
        cache.keep(tokens, one)
        memory.close(one)
    assert cache.open([1, 2, 3, 0]) is not None
    assert cache.open([4, 5, 6, 0]) is None
    memory.check_integrity()


def test_a_new_prompt_learns_where_it_leaves_one_that_was_seen():
    cache = PrefixCache(new_memory(), 3)
    assert cache.branch(TEXT) is None
    assert cache.branch([*TEXT[:25], 1, 2]) == 25
    assert cache.branch([*TEXT[: MIN_BRANCH - 1], 3, 4]) is None


class Books(RuleBasedStateMachine):
    """Open, write, fork, cut back, keep, evict and close in any order: every page and slot keeps exactly its owners,
    and nobody ever reads what another wrote."""

    def __init__(self):
        super().__init__()
        self.memory = new_memory(n_pages=6, n_slots=5)
        self.cache = PrefixCache(self.memory, 2)
        self.live = []
        self.count = 0

    @rule()
    def open(self):
        try:
            self.live.append((self.memory.open(), []))
        except OutOfMemory:
            assert self.memory.slots.n_free == 0

    @precondition(lambda self: self.live)
    @rule(data=st.data(), count=st.integers(1, 20))
    def write(self, data, count):
        holding, values = data.draw(st.sampled_from(self.live))
        self.count += 1
        try:
            write(self.memory, holding, count, float(self.count))
            values += [float(self.count)] * count
        except OutOfMemory:
            pass

    @precondition(lambda self: self.live)
    @rule(data=st.data())
    def fork(self, data):
        holding, values = data.draw(st.sampled_from(self.live))
        try:
            self.live.append((self.memory.fork(holding), list(values)))
        except OutOfMemory:
            assert self.memory.slots.n_free == 0

    @precondition(lambda self: self.live)
    @rule(data=st.data())
    def cut(self, data):
        holding, values = data.draw(st.sampled_from(self.live))
        length = data.draw(st.integers(0, len(values)))
        self.memory.truncate(holding, length)
        del values[length:]

    @precondition(lambda self: self.live)
    @rule(data=st.data())
    def keep(self, data):
        holding, values = data.draw(st.sampled_from(self.live))
        self.cache.keep([int(v) for v in values], holding)

    @precondition(lambda self: self.live)
    @rule(data=st.data())
    def reuse(self, data):
        _, values = data.draw(st.sampled_from(self.live))
        try:
            hit = self.cache.open([int(v) for v in values])
        except OutOfMemory:
            return
        if hit is not None:
            self.live.append((hit, values[: hit.length]))

    @rule()
    def evict(self):
        self.cache.evict()

    @precondition(lambda self: self.live)
    @rule(data=st.data())
    def close(self, data):
        pair = data.draw(st.sampled_from(self.live))
        self.live.remove(pair)
        self.memory.close(pair[0])

    @invariant()
    def the_books_balance_and_nobody_reads_anothers_text(self):
        self.memory.check_integrity()
        self.memory.poison_free()
        for holding, values in self.live:
            assert keys(self.memory, holding) == values


TestBooks = Books.TestCase
TestBooks.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)
