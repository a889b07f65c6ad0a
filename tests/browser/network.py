"""Watches what a process and its children connect to or look up, from inside the interpreter, by an audit hook.

`watching` gives the environment for a process to be watched; every Python below it runs the hook at its start. Linux or
not, root or not: the events come from Python itself (PEP 578).
"""

from __future__ import annotations

import os
from pathlib import Path

_HOOK = """
import os, sys

def _is_here(host):
    host = host.decode() if isinstance(host, bytes) else host
    return host in (None, "", "localhost", "::1") or str(host).startswith("127.")

def _watch(event, arguments):
    if event in ("socket.connect", "socket.sendto"):
        address = arguments[1]
        host = address[0] if isinstance(address, tuple) else None  # a path is a socket of this machine
    elif event in ("socket.getaddrinfo", "socket.gethostbyname"):
        host = arguments[0]
    else:
        return
    if not _is_here(host):
        with open(os.environ["TWOSPEEDS_TEST_OUTSIDE"], "a") as log:
            log.write(f"{os.getpid()} {event} {host!r}\\n")

sys.addaudithook(_watch)
"""


def watching(folder: Path) -> dict[str, str]:
    """Environment that makes Python write what it asks outside for into `folder`."""
    hooks = folder / "hooks"
    hooks.mkdir(exist_ok=True)
    (hooks / "sitecustomize.py").write_text(_HOOK)
    (folder / "outside").touch()
    paths = filter(None, (str(hooks), os.environ.get("PYTHONPATH")))
    return {"PYTHONPATH": os.pathsep.join(paths), "TWOSPEEDS_TEST_OUTSIDE": str(folder / "outside")}


def asked_outside(folder: Path) -> list[str]:
    """Every connection and look-up beyond this machine so far."""
    return (folder / "outside").read_text().splitlines()
