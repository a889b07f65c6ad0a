"""The code with which a person goes on elsewhere: five short words out of 512, 45 random bits.

No two words begin with the same four letters; capitals, spaces and hyphens do not matter. Guessing is held down by
`Limit`: at sixty tries a minute for everybody, finding any one of a thousand codes would take a thousand years.
"""

from __future__ import annotations

import re
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable
from functools import cache
from pathlib import Path

N_WORDS = 5
WORDS_FILE = Path(__file__).resolve().parent / "assets" / "resume_words.txt"


@cache
def word_list() -> tuple[str, ...]:
    """The 512 words."""
    return tuple(WORDS_FILE.read_text(encoding="ascii").split())


def new_code() -> str:
    """A code that nobody has."""
    return "-".join(secrets.choice(word_list()) for _ in range(N_WORDS))


def normal_form(code: str) -> str:
    """A code as it is kept, however it was typed."""
    return "-".join(re.findall(r"[a-z]+", code.lower()))


def looks_like_a_code(code: str) -> bool:
    """Whether these are five of the words: what is not is a slip of the fingers, and is not looked up."""
    typed = normal_form(code).split("-")
    return len(typed) == N_WORDS and set(typed) <= set(word_list())


class Limit:
    """At most `most` events in any `per_s` seconds for each key. Any thread."""

    def __init__(self, most: int, per_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = most
        self._per_s = per_s
        self._clock = clock
        self._seen: dict[str, deque[float]] = {}
        self._lock = threading.Lock()

    def allows(self, key: str) -> bool:
        """Count an event, unless there have been too many: then it is refused and not counted."""
        now = self._clock()
        with self._lock:
            for other in [one for one, times in self._seen.items() if times[-1] <= now - self._per_s]:
                del self._seen[other]
            times = self._seen.setdefault(key, deque())
            while times and times[0] <= now - self._per_s:
                times.popleft()
            if len(times) >= self._most:
                return False
            times.append(now)
            return True
