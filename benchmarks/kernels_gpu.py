"""The GPU kernels against the machine: checked, timed, and set beside other implementations where those are installed.

    python -m benchmarks.kernels_gpu [--shape Qwen3.5-4B] [--prompt 2048] [--context 4096]

Random weights in the shape of the model, bfloat16. First the machine's own rates are measured: bytes a second by a
large copy, operations a second by a large matrix product. No kernel can be faster than its least bytes and operations
at those rates; "share" is that floor over the measured time. A small kernel's share is low because a launch costs
microseconds whatever it moves.

Times are medians over runs with the second-level cache cleared before each (`triton.testing.do_bench`). "error" is
the root mean square of the difference to the float64 statement over that of the result. The last line is the same as
JSON.
"""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import sys
from collections.abc import Callable
from typing import Annotated, Any

import torch
import typer
from rich.console import Console
from rich.table import Table

from engine.account.cost import PRESET_SHAPES

MOST_ERROR = 0.02
"""bfloat16 keeps 8 bits; a few roundings of that on the way."""

SHAPES = ("Qwen3.5-0.8B", "Qwen3.5-4B")


def main(
    shape: Annotated[list[str] | None, typer.Option(help="Preset shapes to run.")] = None,
    prompt: Annotated[int, typer.Option(help="Tokens of the prompt in the prefill rows.")] = 2048,
    context: Annotated[int, typer.Option(help="Positions in the cache before a decode step.")] = 4096,
) -> None:
    """Check, time and print every kernel; exits with 1 if one is wrong, or if there is no GPU."""
    if not torch.cuda.is_available():
        sys.exit("There is no GPU here (torch.cuda.is_available() is false). Nothing was measured.")
    from benchmarks.kernel_calls import Inputs, calls

    bandwidth, matrix_rate = measured_rates()
    rows = []
    for name in shape or SHAPES:
        for n_sequences, n_tokens, before in passes(prompt, context):
            inputs = Inputs(PRESET_SHAPES[name], n_sequences, n_tokens, before, "cuda", torch.bfloat16)
            what = f"{n_sequences} x {n_tokens} after {before}"
            rows += [{"shape": name, "pass": what} | measure(call, bandwidth, matrix_rate) for call in calls(inputs)]
    machine = describe() | {"bytes_per_s": bandwidth, "operations_per_s": matrix_rate}
    Console(width=160).print(table(rows, machine))
    print(json.dumps({"machine": machine, "rows": rows}))
    wrong = [row for row in rows if not row["error"] <= MOST_ERROR]
    if wrong:
        sys.exit(f"{len(wrong)} rows are off by more than {MOST_ERROR}: " + ", ".join(row["kernel"] for row in wrong))


def passes(prompt: int, context: int) -> list[tuple[int, int, int]]:
    """Sequences, tokens of each, and positions before them: decode at three batch sizes, drafts, a prompt."""
    return [(1, 1, context), (8, 1, context), (32, 1, context), (1, 4, context), (1, prompt, 0)]


def measure(call: Any, bandwidth: float, matrix_rate: float) -> dict[str, Any]:
    """One row of the table: error, time, floor and peers of a `kernel_calls.Call`, times in microseconds."""
    truth = call.truth()
    result = call.run().double()
    error = ((result - truth).square().mean().sqrt() / truth.square().mean().sqrt()).item()
    floor = 1e6 * max(call.least_bytes / bandwidth, call.operations / matrix_rate)
    time = median_us(call.run)
    return {
        "kernel": call.name, "error": error, "us": time, "floor_us": floor, "share": floor / time,
        "bound": "bytes" if call.least_bytes / bandwidth >= call.operations / matrix_rate else "operations",
        "peers_us": {name: peer_us(name, peer) for name, peer in call.peers.items()},
    }  # fmt: skip


def median_us(run: Callable[[], Any]) -> float:
    """Median time of a run on the GPU in microseconds."""
    from triton.testing import do_bench

    return 1e3 * float(do_bench(run, warmup=50, rep=200, return_mode="median"))


def peer_us(name: str, run: Callable[[], Any]) -> float | None:
    """Median time of another implementation; None, with its complaint on the error stream, if it does not run here."""
    try:
        return median_us(run)
    except Exception as error:
        print(f"{name}: {error}", file=sys.stderr)
        return None


def measured_rates() -> tuple[float, float]:
    """Bytes a second of a 1 GiB copy (read and written), operations a second of a bfloat16 product of 8,192 cubed."""
    source = torch.zeros(1 << 30, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    left, right = torch.randn(2, 8192, 8192, device="cuda", dtype=torch.bfloat16)
    copied = median_us(lambda: target.copy_(source))
    multiplied = median_us(lambda: left @ right)
    return 2e6 * source.nbytes / copied, 2e6 * 8192**3 / multiplied


def describe() -> dict[str, str | None]:
    """The card, the date and the versions that a figure needs beside it; None for what is not installed."""
    versions: dict[str, str | None] = {}
    for package in ("torch", "triton", "flash-linear-attention"):
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            versions[package] = None
    return {"card": torch.cuda.get_device_name(), "date": datetime.date.today().isoformat(), **versions}


def table(rows: list[dict[str, Any]], machine: dict[str, Any]) -> Table:
    """The rows for people."""
    made = Table(
        title=f"{machine['card']}: {machine['bytes_per_s'] / 1e9:,.0f} GB/s copied, "
        f"{machine['operations_per_s'] / 1e12:,.0f} TFLOP/s in bfloat16 products"
    )
    for heading in ("shape", "pass", "kernel", "error", "time us", "floor us", "bound by", "share", "others, us"):
        made.add_column(heading, justify="left" if heading in ("shape", "pass", "kernel", "bound by") else "right")
    for row in rows:
        peers = ", ".join(f"{name} {time:,.1f}" for name, time in row["peers_us"].items() if time)
        made.add_row(
            row["shape"], row["pass"], row["kernel"], f"{row['error']:.1e}", f"{row['us']:,.1f}",
            f"{row['floor_us']:,.1f}", row["bound"], f"{row['share']:.0%}", peers,
        )  # fmt: skip
    return made


if __name__ == "__main__":
    typer.run(main)
