"""`python -m engine probe`: what this machine reads and multiplies a second."""

from __future__ import annotations

import sys
from typing import Annotated

import msgspec
import typer

from engine.account.presets import this_machine
from engine.account.probe import MachineProbe, Rate, machine_probe


def probe(
    again: Annotated[bool, typer.Option("--again", help="Measure now, even if a result is kept.")] = False,
    threads: Annotated[int | None, typer.Option(min=1, help="Compute threads; by default two.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the result itself and nothing else.")] = False,
) -> None:
    """Measure this machine's read bandwidth and product rates, or show what was measured before."""
    found = machine_probe(again=again, threads=threads)
    if json:
        sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(found)) + b"\n")
    else:
        _show(found)


def _show(found: MachineProbe) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    title = f"{found.cpu}, {found.threads} thread(s), torch {found.torch_version}, measured here {found.created}"
    table = Table(title=escape(title), title_justify="left", caption=_caption(found), caption_justify="left")
    for name in ("rate", "median", "lowest", "highest", "n"):
        table.add_column(name, justify="left" if name == "rate" else "right")
    for name, rate, unit in (
        (f"read bandwidth ({found.buffer_bytes >> 20} MiB)", found.bandwidth_bytes_per_s, "GB/s"),
        ("bf16 matrix product", found.bf16_flops_per_s, "GFLOP/s"),
        ("fp32 matrix product", found.fp32_flops_per_s, "GFLOP/s"),
    ):
        table.add_row(name, *_giga(rate, unit), str(rate.n))
    Console().print(table)


def _giga(rate: Rate, unit: str) -> list[str]:
    return [f"{value / 1e9:,.1f} {unit}" for value in (rate.median, rate.low, rate.high)]


def _caption(found: MachineProbe) -> str:
    caches = ", ".join(f"{level} {size >> 10:,} KiB" for level, size in found.cache_bytes.items()) or "unknown"
    ridge = this_machine(found).ridge
    return f"caches: {caches}; memory: {found.memory_bytes / 2**30:,.1f} GiB; ridge: {ridge:,.1f} operations a byte"
