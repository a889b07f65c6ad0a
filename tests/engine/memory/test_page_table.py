"""The page table that lessons draw is the engine's own: the same chats in the real memory take the same pages."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.account import page_table
from engine.account.page_table import STEP, crowd, play
from engine.memory import pages
from engine.memory.memory import Memory
from engine.memory.pages import KVPages
from engine.memory.slots import StateSlots

N_PAGES = 48


def small_memory(n_pages: int) -> Memory:
    return Memory(KVPages(1, 1, 1, n_pages, torch.float32), StateSlots(1, 30, 1, 1, 1, 1, 2))


def in_the_engine(prefix: int, wanted: list[int]) -> tuple[Memory, list[list[int]]]:
    """Fork the beginning for each chat, then let them grow in turns."""
    memory = small_memory(N_PAGES)
    beginning = memory.open()
    if prefix:
        memory.extend(beginning, prefix)
    chats = [memory.fork(beginning) for _ in wanted]
    while growing := [(chat, n) for chat, n in zip(chats, wanted, strict=True) if chat.length < n]:
        for chat, n in growing:
            memory.extend(chat, min(STEP, n - chat.length))
    memory.check_integrity()
    return memory, [chat.pages for chat in chats]


def test_pages_are_as_large_as_the_engines():
    assert page_table.PAGE_SIZE == pages.PAGE_SIZE
    assert [page_table.pages_for(n) for n in range(70)] == [pages.pages_for(n) for n in range(70)]


@settings(max_examples=40, deadline=None)
@given(
    prefix=st.integers(0, 70), lengths=st.lists(st.integers(1, 140), min_size=1, max_size=9), n_pages=st.just(N_PAGES)
)
def test_the_same_chats_take_the_same_pages_in_the_real_memory(prefix, lengths, n_pages):
    wanted = [max(prefix + 1, n) for n in lengths]
    table = play(n_pages, prefix, wanted)
    let_in = [chat.wanted for chat in table.running]
    memory, tables = in_the_engine(prefix, let_in)
    assert [chat.pages for chat in table.running] == tables
    assert table.pool.n_free == memory.pages.n_free
    assert table.pool.owners == [memory.pages.owners(page) for page in range(n_pages)]
    assert [chat.wanted for chat in (*table.running, *table.waiting)] == wanted, "the others wait, in order"


def test_every_chat_that_was_let_in_got_all_that_it_asked_for():
    table = play(N_PAGES, 20, crowd(20, 20, 3, 30, 120))
    assert table.waiting, "the crowd is larger than the pool"
    assert all(chat.length == chat.wanted for chat in table.running)


def test_a_partly_filled_page_of_the_beginning_is_copied_and_whole_ones_are_shared():
    table = play(N_PAGES, 40, [60, 60, 60])
    shared = set(table.beginning.pages[:2])
    assert all(chat.pages[:2] == table.beginning.pages[:2] for chat in table.running)
    assert table.shared_pages == len(shared) == 2
    assert len({chat.pages[2] for chat in table.running} | {table.beginning.pages[2]}) == 4
    assert table.saved_pages == 2 * 2


def test_without_a_beginning_nothing_is_shared_and_at_most_a_page_less_one_place_is_empty():
    table = play(N_PAGES, 0, crowd(6, 0, 1, 30, 120))
    assert table.shared_pages == table.saved_pages == 0
    assert all(0 <= chat.empty_places < page_table.PAGE_SIZE for chat in table.running)
    assert table.used_pages * page_table.PAGE_SIZE == table.positions + table.empty_places


def test_the_same_seed_draws_the_same_crowd():
    assert crowd(5, 0, 7, 30, 120) == crowd(5, 0, 7, 30, 120) != crowd(5, 0, 8, 30, 120)
