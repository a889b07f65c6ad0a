"""The hardware probe: what this machine reads and multiplies a second, measured here.

Three rates, each the median of several repetitions after a warm-up, with the lowest and the highest beside it:

    read bandwidth     a float32 matrix that no cache holds, summed or multiplied with a vector, whichever is faster
    bf16, fp32 rate    a square matrix product, 2 N^3 operations

They are the two roofs of the roofline (Williams, Waterman, Patterson, "Roofline", CACM 2009), for the libraries and the
number of threads that the engine uses; a disturbed machine shows as a wide spread. A result is kept in the user's cache
folder and measured again on request, or when processor, threads or torch have changed.
"""

from __future__ import annotations

import contextlib
import os
import statistics
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import psutil

from engine.account.hardware import cpu_name, torch_version

BUFFER_BYTES = 256 << 20
MOST_BUFFER_BYTES = 1 << 30
COLUMNS = 8192
MATRICES = (1024, 512, 256)
"""Sides of the square matrices, the largest that is multiplied within `PRODUCT_SECONDS` is taken: without instructions
for bf16 a processor may need a hundred times as long for it."""
PRODUCT_SECONDS = 0.12
SECONDS = 0.5
"""Aimed at for each series of repetitions."""
LEAST, MOST = 3, 40
"""Repetitions, whatever the time they take."""

clock = time.perf_counter_ns


class Rate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A rate per second: the median of `n` repetitions, the lowest and the highest of them."""

    median: float
    low: float
    high: float
    n: int

    @classmethod
    def of(cls, amount: int, durations_ns: list[int]) -> Rate:
        """The rates at which `amount` bytes or operations were done in each of these durations."""
        rates = [amount * 1e9 / duration for duration in durations_ns]
        return cls(statistics.median(rates), min(rates), max(rates), len(rates))

    @property
    def spread(self) -> float:
        """(highest - lowest) / median."""
        return (self.high - self.low) / self.median


class MachineProbe(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """This machine as measured. Rates are bytes and operations a second, sizes are bytes."""

    created: str
    """When it was measured, ISO 8601, UTC."""
    cpu: str
    threads: int
    torch_version: str
    cache_bytes: dict[str, int]
    """Level ("L1d", "L2", "L3") -> size of one such cache; empty if the system does not tell."""
    memory_bytes: int
    buffer_bytes: int
    """What the bandwidth was measured on."""
    bandwidth_bytes_per_s: Rate
    bf16_flops_per_s: Rate
    fp32_flops_per_s: Rate


def machine_probe(*, again: bool = False, threads: int | None = None, path: Path | None = None) -> MachineProbe:
    """The kept result if it is this machine's, else a new measurement, which is then kept.

    `threads` is the number of compute threads, by default as many as the engine takes: two, or one on a single core.
    `again` measures in any case. A result that cannot be kept is given all the same.
    """
    wanted = threads or min(2, os.cpu_count() or 1)
    place = path or kept_at(wanted)
    kept = None if again else load(place)
    if kept is not None and (kept.cpu, kept.threads, kept.torch_version) == (cpu_name(), wanted, torch_version()):
        return kept
    measured = measure(wanted)
    # A read-only home is no reason to go without: the next call measures again.
    with contextlib.suppress(OSError):
        save(measured, place)
    return measured


def kept_at(threads: int) -> Path:
    """Where a result for so many threads is kept: the user's cache folder, beside the fetched models."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "two-speeds" / f"probe-{threads}.json"


def load(path: Path) -> MachineProbe | None:
    """A kept result; None if there is none or it cannot be read."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=MachineProbe)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None


def save(probe: MachineProbe, path: Path) -> None:
    """Keep a result; raises `OSError`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    part.write_bytes(msgspec.json.format(msgspec.json.encode(probe)))
    part.replace(path)


def measure(threads: int) -> MachineProbe:
    """Measure now, in about two seconds. The number of torch threads is set for the time of it."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        with torch.inference_mode():
            return _measure(threads)
    finally:
        torch.set_num_threads(before)


def cache_sizes(folder: Path = Path("/sys/devices/system/cpu/cpu0/cache")) -> dict[str, int]:
    """Sizes of the first core's caches by level, as Linux tells them; empty elsewhere."""
    found = {}
    for index in sorted(folder.glob("index*")):
        try:
            level, kind, size = ((index / name).read_text().strip() for name in ("level", "type", "size"))
            found[f"L{level}{'d' if kind == 'Data' else ''}"] = int(size.removesuffix("K")) * 1024
        except (OSError, ValueError):
            continue
        if kind == "Instruction":
            del found[f"L{level}"]
    return found


def _measure(threads: int) -> MachineProbe:
    caches = cache_sizes()
    n_bytes = buffer_bytes(max(caches.values(), default=0))
    return MachineProbe(
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        cpu=cpu_name(),
        threads=threads,
        torch_version=torch_version(),
        cache_bytes=caches,
        memory_bytes=psutil.virtual_memory().total,
        buffer_bytes=n_bytes,
        bandwidth_bytes_per_s=_bandwidth(n_bytes),
        bf16_flops_per_s=_product("bfloat16"),
        fp32_flops_per_s=_product("float32"),
    )


def buffer_bytes(last_level_cache: int) -> int:
    """Large enough that at most an eighth of the buffer can still lie in the last cache when the next sum begins."""
    return min(max(BUFFER_BYTES, 8 * last_level_cache), MOST_BUFFER_BYTES)


def _bandwidth(n_bytes: int) -> Rate:
    import torch

    # Written, not only allocated: untouched pages would all be the same page of zeros.
    matrix, vector = torch.ones(n_bytes // (4 * COLUMNS), COLUMNS), torch.ones(COLUMNS)
    series = [_durations(matrix.sum), _durations(lambda: torch.mv(matrix, vector))]
    return Rate.of(matrix.nbytes, min(series, key=statistics.median))


def _product(dtype: str) -> Rate:
    """Products of the largest matrices that do not take too long; judged by the smallest ones."""
    smallest = MATRICES[-1]
    at_smallest = min(_durations(_multiply(smallest, dtype), seconds=0.0))
    side = next((n for n in MATRICES if at_smallest * (n / smallest) ** 3 < PRODUCT_SECONDS * 1e9), smallest)
    return Rate.of(2 * side**3, _durations(_multiply(side, dtype)))


def _multiply(side: int, dtype: str) -> Callable[[], Any]:
    import torch

    left, right = (torch.randn(side, side).to(getattr(torch, dtype)) for _ in range(2))
    out = torch.empty_like(left)
    return lambda: torch.mm(left, right, out=out)


def _durations(work: Callable[[], Any], seconds: float = SECONDS) -> list[int]:
    """Repeat for about so long, after one call that warms up; at least `LEAST` times, at most `MOST`."""
    durations: list[int] = []
    work()
    deadline = clock() + int(seconds * 1e9)
    while len(durations) < LEAST or (len(durations) < MOST and clock() < deadline):
        start = clock()
        work()
        durations.append(clock() - start)
    return durations
