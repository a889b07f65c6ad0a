"""The machine: cores, memory, ports, models, and room to keep things."""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
from pathlib import Path

import httpx
import psutil

from engine.account.home import home
from engine.fetch.listing import models_here
from engine.preflight.finding import Finding, fine, missing, without

GIB = 2**30
PROCESSES_BYTES = GIB // 2
"""What the app and an engine hold beside a model's weights: 0.33 GiB after a first run (measured on Linux with the
bundled model), and room for some people at once.
"""
ROOM_BYTES = GIB
"""Free disk below which keeping runs and answers may fail some day: they are bounded to about a third of it."""


def cores() -> Finding:
    """Processors, and how much others use them."""
    n = os.cpu_count() or 1
    busy = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    found = f"{n} core(s)" + (f", load {busy:.1f}" if busy is not None else "")
    if busy is not None and busy > n:
        return without("Cores", found, "Other programs are busy: timings will be longer and less steady than alone.")
    if n < 2:
        return without("Cores", found, "Two or more keep the pages quick while the engine computes.")
    return fine("Cores", found)


def memory() -> Finding:
    """Free memory against what the bundled model needs, and which of the models here would fit."""
    free = psutil.virtual_memory().available
    needs = {row.name: row.size_bytes + PROCESSES_BYTES for row in models_here()}
    found = f"{free / GIB:.1f} GiB free"
    if not needs:
        return fine("Memory", found)
    least = min(needs.values())
    if free < least:
        return missing("Memory", found, f"The smallest model here needs about {least / GIB:.1f} GiB. Close something.")
    too_large = [name for name, size in needs.items() if size > free]
    if too_large:
        return without("Memory", found, f"Not enough for {', '.join(too_large)}; the others fit.")
    return fine("Memory", f"{found}; the largest model here needs about {max(needs.values()) / GIB:.1f} GiB")


def models() -> Finding:
    """Bundled and fetched models."""
    rows = models_here()
    if not any(row.origin == "bundled" for row in rows):
        return missing("Models", "the bundled model is not in models/story", "Get the whole project again.")
    broken = [row for row in rows if row.kind.startswith("cannot be used")]
    found = ", ".join(f"{row.name} ({row.origin})" for row in rows)
    if broken:
        return without("Models", found, f"{broken[0].name} {broken[0].kind}")
    return fine("Models", found)


def app_port(port: int) -> Finding:
    """The port of the pages."""
    what = f"Port {port} (pages)"
    if is_free(port):
        return fine(what, "free")
    who = "Two Speeds itself" if _answers(f"http://127.0.0.1:{port}/twospeeds/health") else "another program"
    return missing(what, f"in use by {who}", f"Stop it, or choose another: make run PORT={port + 1}")


def engine_port(port: int) -> Finding:
    """The port of an engine that is started by hand; the app's own engine takes any free one."""
    what = f"Port {port} (engine)"
    if is_free(port):
        return fine(what, "free")
    who = "an engine" if _answers(f"http://127.0.0.1:{port}/health") else "another program"
    advice = f"make run does not need it. By hand: python -m engine serve --port {port + 1}"
    return without(what, f"in use by {who}", advice)


def data_folder() -> list[Finding]:
    """Whether runs and answers can be kept, and for how long there is room."""
    folder = home()
    nearest = next(one for one in (folder, *folder.parents) if one.exists())
    if not _writable(nearest):
        advice = "Runs and answers will not be kept. Name a folder that can be written: TWOSPEEDS_HOME=/path make run"
        return [without("Data folder", f"{folder} cannot be written", advice)]
    free = shutil.disk_usage(nearest).free
    found = f"{free / GIB:.1f} GiB free"
    if free < ROOM_BYTES:
        room = without("Disk", found, "Make room, or name a folder on another disk: TWOSPEEDS_HOME=/path make run")
    else:
        room = fine("Disk", found)
    return [fine("Data folder", str(folder)), room]


def is_free(port: int) -> bool:
    """Whether a server could listen on this loopback port now."""
    try:
        socket.create_server(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True


def _answers(url: str) -> bool:
    try:
        return httpx.get(url, timeout=1.0, trust_env=False).status_code == 200
    except httpx.HTTPError:
        return False


def _writable(folder: Path) -> bool:
    """Tried for real: permissions alone do not tell of a read-only disk."""
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False
