"""Prefix reuse in a hybrid: a beginning that several requests share is computed once.

Attention alone could share pages at any length. A recurrent state cannot be cut back: it exists only at the positions
where a copy was kept. So a hit needs both, the KV pages up to a position and a checkpoint of the state at that very
position; the two are one holding here.

Where checkpoints are worth their bytes: at the end of a prompt (for a longer one that begins like it), at the end of a
run (a conversation's next turn), and where a new prompt leaves one that was seen before (a system prompt with different
questions behind it), as Marconi does (Pan et al., arXiv 2411.19379). For a prompt that comes again word for word that
is before its last token: something must be left to compute, or nobody would give the next token's odds.
"""

from __future__ import annotations

import itertools
from collections import OrderedDict, deque
from collections.abc import Sequence
from dataclasses import dataclass

from engine.memory.errors import OutOfMemory
from engine.memory.memory import Holding, Memory

MIN_BRANCH = 16
"""A shared beginning shorter than this is computed faster than a checkpoint is looked up and copied."""
N_REMEMBERED = 32
"""Prompts whose beginnings a new one is compared with."""


@dataclass
class _Checkpoint:
    holding: Holding
    proven: bool
    """Two requests have shared it: such a beginning will be asked for again, an end that nobody continued may not."""


class PrefixCache:
    """Checkpoints by their tokens; those that nobody shared yet are thrown out first, the least recently used of them
    before the others. Used by the thread that steps.
    """

    def __init__(self, memory: Memory, max_checkpoints: int) -> None:
        self._memory = memory
        self._max = max_checkpoints
        self._checkpoints: OrderedDict[tuple[int, ...], _Checkpoint] = OrderedDict()
        self._recent: deque[tuple[int, ...]] = deque(maxlen=N_REMEMBERED)

    def __len__(self) -> int:
        return len(self._checkpoints)

    def open(self, tokens: Sequence[int]) -> Holding | None:
        """A holding that begins with the longest checkpoint of these tokens; None if there is none.

        At least one token is left to compute: somebody has to give the next one's odds. Raises OutOfMemory.
        """
        asked = tuple(tokens)
        fitting = (key for key in self._checkpoints if len(key) < len(asked) and asked[: len(key)] == key)
        best = max(fitting, key=len, default=None)
        if best is None:
            return None
        self._checkpoints.move_to_end(best)
        self._checkpoints[best].proven = True
        return self._memory.fork(self._checkpoints[best].holding)

    def branch(self, tokens: Sequence[int]) -> int | None:
        """Where a new prompt leaves the recent one that it shares most with, if that is worth a checkpoint.

        Remembers the prompt.
        """
        asked = tuple(tokens)
        shared = min(max((_shared(asked, seen) for seen in self._recent), default=0), len(asked) - 1)
        self._recent.append(asked)
        return shared if shared >= MIN_BRANCH else None

    def keep(self, tokens: Sequence[int], holding: Holding, *, shared: bool = False) -> None:
        """Copy a holding as the checkpoint of its tokens; not kept if there is no slot for it even after throwing out
        others. `shared` says that two prompts have begun like this already.
        """
        key = tuple(tokens)
        assert len(key) == holding.length
        if not self._max or key in self._checkpoints:
            return
        while len(self._checkpoints) >= self._max or not self._memory.slots.n_free:
            if not self.evict():
                return
        self._checkpoints[key] = _Checkpoint(self._memory.fork(holding), shared)

    def evict(self) -> bool:
        """Throw out the checkpoint that is least likely to be wanted; False if there is none."""
        if not self._checkpoints:
            return False
        unproven = (key for key, one in self._checkpoints.items() if not one.proven)
        key = next(unproven, next(iter(self._checkpoints)))
        self._memory.close(self._checkpoints.pop(key).holding)
        return True

    def clear(self) -> None:
        """Throw out all of them, and forget the prompts."""
        self._recent.clear()
        while self.evict():
            pass


def open_or_make_room(memory: Memory, cache: PrefixCache) -> Holding | None:
    """A fresh holding; checkpoints give way to sequences. None if every slot belongs to a sequence."""
    while True:
        try:
            return memory.open()
        except OutOfMemory:
            if not cache.evict():
                return None


def _shared(one: tuple[int, ...], other: tuple[int, ...]) -> int:
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
