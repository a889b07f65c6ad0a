"""The thread of life between the app and its engine: a pipe that the app holds open for as long as it lives.

Whatever ends the app, SIGKILL included, the operating system closes its end of the pipe, and the engine ends.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable

GRACE_S = 1.0
"""From the cut to the hard end: time to close what is open, less than a person waits for."""


def end_when_cut(shut_down: Callable[[], None], *, descriptor: int | None = None) -> threading.Thread:
    """Watch standard input (or another descriptor); at its end call `shut_down`, and leave for good after `GRACE_S`."""
    watched = sys.stdin.fileno() if descriptor is None else descriptor
    thread = threading.Thread(target=_watch, args=(watched, shut_down), name="lifeline", daemon=True)
    thread.start()
    return thread


def _watch(descriptor: int, shut_down: Callable[[], None]) -> None:
    try:
        while os.read(descriptor, 4096):
            pass
    except OSError:
        pass  # a broken pipe is a cut one
    shut_down()
    time.sleep(GRACE_S)
    # A thread deep in a kernel, or a client that does not hang up, must not keep an orphan alive.
    os._exit(0)
