"""How many threads compute: two if two cores are free, else one.

A decode step is some forty short parallel loops. Where another program, such as the browser that draws the page, holds
one of two cores, the second thread is taken off in the middle of a loop every few milliseconds and the first one waits
for it; alone, it is faster. So the number is chosen by how busy the other programs are just before a request arrives at
an idle engine, and kept until the engine is idle again: a run's record names one number, and it holds for all its
passes.
"""

from __future__ import annotations

import os
import threading
import time

import psutil

MOST = 2
"""The loops of a small model are too short to be worth more."""
SAMPLE_S = 0.25
FREE_CORES = 1.75
"""Two threads want two cores; a quarter of one may go to whatever always runs."""


def default_threads() -> int:
    """Without looking at who else is busy: two, or one on a machine with a single core."""
    return min(MOST, os.cpu_count() or 1)


class Neighbours:
    """How many cores other processes keep busy, sampled a few times a second by a thread of its own."""

    def __init__(self, sample_s: float = SAMPLE_S) -> None:
        self._sample_s = sample_s
        self._process = psutil.Process()
        self._closed = threading.Event()
        self._busy_cores = 0.0
        self._before = self._read()
        self._thread = threading.Thread(target=self._watch, name="engine-neighbours", daemon=True)
        self._thread.start()

    @property
    def busy_cores(self) -> float:
        """Cores that others kept busy over the last half second or so."""
        return self._busy_cores

    def threads(self) -> int:
        """How many threads to compute with now."""
        free = (os.cpu_count() or 1) - self._busy_cores
        return MOST if free >= FREE_CORES else 1

    def close(self) -> None:
        """Stop looking."""
        self._closed.set()

    def _watch(self) -> None:
        while not self._closed.wait(self._sample_s):
            at, busy, own = self._read()
            seconds = at - self._before[0]
            others = max(0.0, (busy - self._before[1]) - (own - self._before[2])) / seconds
            # Half old, half new: a single blip does not decide, two samples do.
            self._busy_cores = (self._busy_cores + others) / 2
            self._before = at, busy, own

    def _read(self) -> tuple[float, float, float]:
        """Now, the seconds that all cores have been busy, and this process's part of them."""
        times, own = psutil.cpu_times(), self._process.cpu_times()
        idle = times.idle + getattr(times, "iowait", 0.0)
        # guest time is counted in user time, too.
        return time.monotonic(), sum(times) - idle - getattr(times, "guest", 0.0), own.user + own.system
