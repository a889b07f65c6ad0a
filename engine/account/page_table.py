"""A pool of KV pages as numbers alone: who owns which page, by the rules of `engine.memory.pages`, without tensors.

Chats arrive one after another, begin from a shared beginning if there is one, and grow in turns, so that their pages
lie scattered over the pool as they do in a server. A test does the same to the real memory and compares the tables.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

PAGE_SIZE = 16
"""Positions of a page; a test holds it against `engine.memory.pages`, which needs torch."""

STEP = 8
"""Tokens that a chat grows by before the next one has its turn."""


def pages_for(positions: int) -> int:
    """How many pages hold that many positions."""
    return -(-positions // PAGE_SIZE)


@dataclass
class Chat:
    """One sequence: the pages that it owns or shares, in the order of its positions."""

    name: str
    wanted: int
    """Positions that it will hold in the end."""
    length: int = 0
    pages: list[int] = field(default_factory=list)

    @property
    def empty_places(self) -> int:
        """Places of its last page that hold nothing yet."""
        return len(self.pages) * PAGE_SIZE - self.length


class Pool:
    """The pages. A page counts its owners; one that nobody owns is free."""

    def __init__(self, n_pages: int) -> None:
        self.n_pages = n_pages
        self._free = list(range(n_pages - 1, -1, -1))
        self.owners = [0] * n_pages

    @property
    def n_free(self) -> int:
        """Pages that nobody owns."""
        return len(self._free)

    def grow(self, chat: Chat, added: int) -> bool:
        """Room for `added` more positions, all of it the chat's own to write; False if there is too little, and nothing
        changes. A shared last page that is partly filled is copied first.
        """
        copied = bool(chat.length % PAGE_SIZE) and self.owners[chat.pages[-1]] > 1
        needed = pages_for(chat.length + added) - len(chat.pages) + copied
        if needed > self.n_free:
            return False
        fresh = [self._free.pop() for _ in range(needed)]
        for page in fresh:
            self.owners[page] = 1
        if copied:
            self.owners[chat.pages.pop()] -= 1
        chat.pages.extend(fresh)
        chat.length += added
        return True

    def fork(self, chat: Chat, name: str, wanted: int) -> Chat:
        """A chat that begins with the same positions: its pages are shared, none is copied."""
        for page in chat.pages:
            self.owners[page] += 1
        return Chat(name, wanted, chat.length, list(chat.pages))


@dataclass(frozen=True)
class Table:
    """The pool at one moment: chats that run, those that wait for memory, and the shared beginning."""

    pool: Pool
    running: list[Chat]
    waiting: list[Chat]
    beginning: Chat

    @property
    def used_pages(self) -> int:
        """Pages with at least one owner."""
        return self.pool.n_pages - self.pool.n_free

    @property
    def shared_pages(self) -> int:
        """Pages that at least two chats read; the checkpoint that holds the beginning does not count as one."""
        own = set(self.beginning.pages)
        return sum(owners - (page in own) > 1 for page, owners in enumerate(self.pool.owners))

    @property
    def saved_pages(self) -> int:
        """Pages that the same chats would take beside these if nobody shared."""
        return sum(len(chat.pages) for chat in self.running) - len({page for one in self.running for page in one.pages})

    @property
    def positions(self) -> int:
        """Positions that the running chats see."""
        return sum(chat.length for chat in self.running)

    @property
    def empty_places(self) -> int:
        """Places in the chats' last pages that hold nothing."""
        return sum(chat.empty_places for chat in self.running)

    def readers(self, page: int) -> str:
        """Names of the chats whose table has this page, side by side."""
        return "".join(chat.name for chat in self.running if page in chat.pages)

    def filled(self, page: int) -> int:
        """Positions that a page holds."""
        for chat in (*self.running, self.beginning):
            if page in chat.pages:
                return min(PAGE_SIZE, chat.length - chat.pages.index(page) * PAGE_SIZE)
        return 0


def crowd(n_chats: int, prefix: int, seed: int, shortest: int, longest: int) -> list[int]:
    """Lengths that chats will have in the end, drawn evenly between two numbers, none shorter than the beginning."""
    draw = random.Random(seed)
    return [max(prefix + 1, draw.randint(shortest, longest)) for _ in range(n_chats)]


def play(n_pages: int, prefix: int, wanted: list[int]) -> Table:
    """Let chats of these lengths in, in order, as long as there is room for all that each will hold; the others wait.

    They share a beginning of `prefix` positions, which a checkpoint holds, and then grow in turns of `STEP` tokens.
    """
    pool, beginning = Pool(n_pages), Chat("", prefix)
    if prefix:
        pool.grow(beginning, prefix)
    running: list[Chat] = []
    waiting: list[Chat] = []
    promised = len(beginning.pages)
    for number, length in enumerate(wanted):
        name = chr(ord("A") + number)
        # Whole pages of the beginning stay shared; a partly filled one will be copied.
        needed = pages_for(length) - prefix // PAGE_SIZE
        if waiting or promised + needed > n_pages:
            waiting.append(Chat(name, length))
            continue
        promised += needed
        running.append(pool.fork(beginning, name, length))
    while growing := [chat for chat in running if chat.length < chat.wanted]:
        for chat in growing:
            pool.grow(chat, min(STEP, chat.wanted - chat.length))
    return Table(pool, running, waiting, beginning)
