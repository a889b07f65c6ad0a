"""The whole engine on a GPU: what share of the card's own rates a decode step and a prefill reach.

    python -m benchmarks.engine_gpu [--shape qwen3.5-4b] [--prompt 2048] [--device cuda]

Models of published shapes with random weights, bfloat16. First the card's rates are measured (benchmarks.kernels_gpu).
A decode step's bytes are those on the record: weights once, each sequence's KV read and written, its state read and
written; its share is these bytes a second over the rate of a large copy. A prefill's share is its recorded operations a
second over the rate of a large bfloat16 product. Times are medians of whole engine steps, scheduling and sampling
included; decode steps are replayed as CUDA graphs. The last line is the same as JSON.
"""

from __future__ import annotations

import json
import statistics
import sys
from typing import Annotated, Any

import torch
import typer
from rich.console import Console
from rich.table import Table

from benchmarks.kernels_gpu import describe, measured_rates
from benchmarks.serving import ask, finish
from engine import Engine
from engine.account.record import Pass, Run
from engine.loop.policy import Policy

SHAPES = ("qwen3.5-0.8b", "qwen3.5-4b")
BATCHES = (1, 8, 32)
NEW_TOKENS = 64


def main(
    shape: Annotated[list[str] | None, typer.Option(help="Preset shapes to run.")] = None,
    prompt: Annotated[int, typer.Option(help="Tokens of the prompt that is prefilled.")] = 2048,
    device: Annotated[str, typer.Option(help="cuda, cuda:1 and so on.")] = "cuda",
) -> None:
    """Measure and print; exits with 1 if there is no GPU."""
    if not torch.cuda.is_available():
        sys.exit("There is no GPU here (torch.cuda.is_available() is false). Nothing was measured.")
    bandwidth, matrix_rate = measured_rates()
    rows = []
    for name in shape or SHAPES:
        with Engine.load(f"random:{name}", device=device, policy=Policy(max_running=max(BATCHES))) as engine:
            for n in BATCHES:
                rows.append({"shape": name} | decode_row(engine, n, bandwidth))
            rows.append({"shape": name} | prefill_row(engine, prompt, matrix_rate))
    machine = describe() | {"bytes_per_s": bandwidth, "operations_per_s": matrix_rate}
    Console(width=120).print(table(rows, machine))
    print(json.dumps({"benchmark": "engine_gpu", "machine": machine, "rows": rows}))


def decode_row(engine: Engine, n: int, bandwidth: float, new: int = NEW_TOKENS) -> dict[str, Any]:
    """`n` sequences that decode together: the median step, and the bytes a second that it moved as a share."""
    first = engine.steps.count
    runs = finish(engine, [engine.submit(ask("Once upon a time", new)) for _ in range(n)])
    steps = [row for row in engine.steps.since(first) if len(row.shares) == n]
    steps = [row for row in steps if all(share.phase == "decode" for share in row.shares)][2:]
    step_ns = statistics.median(row.end_ns - row.start_ns for row in steps)
    moved = step_bytes(runs)
    return {
        "what": f"decode, {n} together", "us": step_ns / 1e3, "n": len(steps), "tokens_per_s": n * 1e9 / step_ns,
        "bytes": moved, "share": moved / (step_ns / 1e9) / bandwidth,
    }  # fmt: skip


def step_bytes(runs: list[Run]) -> float:
    """Bytes of a step in which all of these runs decode, by their median pass: the weights once, the rest each."""
    passes = [median_bytes(run) for run in runs]
    return passes[0][0] + sum(own for _, own in passes)


def median_bytes(run: Run) -> tuple[float, float]:
    """Weight bytes of a run's median decode pass, and its own bytes of KV cache and state."""
    passes = [one for one in run.passes if one.phase == "decode"]
    return statistics.median(one.weight_bytes_read or 0 for one in passes), statistics.median(map(own_bytes, passes))


def own_bytes(one: Pass) -> int:
    """What a pass moves that nobody shares."""
    parts = (one.kv_bytes_read, one.kv_bytes_written, one.state_bytes_read, one.state_bytes_written)
    return sum(part or 0 for part in parts)


def prefill_row(engine: Engine, n_tokens: int, matrix_rate: float, rounds: int = 5) -> dict[str, Any]:
    """A prompt read whole: the median pass, and its operations a second as a share."""
    prompt = "x" * n_tokens  # a token a byte
    passes = [engine.run(ask(prompt, 1)).passes[0] for _ in range(rounds + 1)][1:]
    pass_ns = statistics.median(one.end_ns - one.start_ns for one in passes)
    operations = passes[0].operations or 0
    return {
        "what": f"prefill of {len(passes[0].token_ids)}", "us": pass_ns / 1e3, "n": len(passes),
        "tokens_per_s": len(passes[0].token_ids) * 1e9 / pass_ns, "operations": operations,
        "share": operations / (pass_ns / 1e9) / matrix_rate,
    }  # fmt: skip


def table(rows: list[dict[str, Any]], machine: dict[str, Any]) -> Table:
    """The rows for people."""
    made = Table(
        title=f"{machine['card']}: {machine['bytes_per_s'] / 1e9:,.0f} GB/s copied, "
        f"{machine['operations_per_s'] / 1e12:,.0f} TFLOP/s in bfloat16 products"
    )
    for heading in ("shape", "what", "us", "n", "tokens/s", "share of bandwidth", "share of products"):
        made.add_column(heading, justify="left" if heading in ("shape", "what") else "right")
    for row in rows:
        share = f"{row['share']:.0%}"
        made.add_row(
            row["shape"], row["what"], f"{row['us']:,.1f}", str(row["n"]), f"{row['tokens_per_s']:,.0f}",
            share if "bytes" in row else "", share if "operations" in row else "",
        )  # fmt: skip
    return made


if __name__ == "__main__":
    typer.run(main)
