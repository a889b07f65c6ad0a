"""Ours, transformers and llama.cpp on the same models, tokens and number of threads, in turns inside one process.

    python -m benchmarks.engines                          every model of MODELS that is here
    python -m benchmarks.engines --model smollm2-135m     one of them, or any other by name or folder

llama.cpp is an extra: `pip install -r requirements-bench.txt` compiles it, which takes minutes; without it the others
are compared. It reads GGUF files only, once as the file ships and once widened to bfloat16, for equal bits.

Every round gives each side its turn: a pass that warms up, a prefill of 128 tokens with decode steps after it, and a
prefill of 512. Memory is read between the turns. So a busy moment of the machine hits everyone, and a ratio is taken in
every round, too: beside the ratio of the medians stand the lowest and the highest of them, the spread from run to run.
`engine_sides` says what a step is for each side. "eager torch" is our own model without its compiled operations, one
call of torch after another: what the C++ ones and their recorded steps bring.

Weights are random for a shape that is not here: its time is that of the real model, its text is none. The last line is
the same as JSON.
"""

from __future__ import annotations

import gc
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import torch
import typer
from rich.console import Console
from rich.table import Table

from benchmarks.engine_sides import (
    Prompt,
    Side,
    gguf_file,
    in_bfloat16,
    llama_cpp_side,
    operations_of,
    ours,
    transformers_side,
)
from benchmarks.two_speeds import Measured
from engine import Engine
from engine.account.hardware import cpu_name
from engine.account.probe import COLUMNS, buffer_bytes, cache_sizes
from engine.loop.model_folder import ModelNotFound, find_model, random_shape

MODELS = ("story", "smollm2-135m", "random:Qwen3.5-0.8B")
SHORT, LONG = 128, 512
"""Tokens of the two prefills; decode steps follow the short one."""
DECODE, PREFILL_SHORT, PREFILL_LONG = PACES = ("decode", f"prefill of {SHORT}", f"prefill of {LONG}")
BF16, INT4, EAGER = "ours bf16", "ours int4", "ours bf16, eager torch"
SHIPPED, WIDENED, OTHERS = "llama.cpp as shipped", "llama.cpp bf16", "transformers"
PAIRS = ((INT4, SHIPPED), (BF16, WIDENED), (INT4, OTHERS), (BF16, OTHERS), (BF16, EAGER))
"""Whose times are compared: equal bits where both have them, and transformers in the faster of its two dtypes."""

WANTED = {
    ("smollm2-135m", DECODE, INT4, SHIPPED): 2.0,
    ("smollm2-135m", DECODE, INT4, OTHERS): 6.0,
    ("smollm2-135m", PREFILL_LONG, INT4, SHIPPED): 5.0,
    ("smollm2-135m", PREFILL_LONG, BF16, OTHERS): 1.2,
    ("Qwen3.5-0.8B, random weights", PREFILL_LONG, BF16, OTHERS): 2.0,
}
"""How many times as fast as the other side; the project's own goals."""
WANTED_SHARE = {
    ("Qwen3.5-0.8B, random weights", BF16): 0.85,
    ("Qwen3.5-0.8B, random weights", INT4): 0.65,
}
"""Of the memory's measured reading, in a decode step."""
WANTED_TOKENS_PER_S = {("story", BF16): 1000.0}

clock = time.perf_counter_ns


class Row(NamedTuple):
    """One comparison: the value of the medians, the lowest and the highest of the rounds, and what is wanted."""

    what: str
    value: float
    low: float
    high: float
    unit: str
    wanted: float | None

    @property
    def verdict(self) -> str:
        """Whether it is as high as wanted; empty where nothing is."""
        return "" if self.wanted is None else ("reached" if self.value >= self.wanted else "missed")


class Reading:
    """Reads memory that no cache holds, as the hardware probe does: summed or multiplied, whichever is faster."""

    def __init__(self) -> None:
        self._matrix = torch.ones(buffer_bytes(max(cache_sizes().values(), default=0)) // (4 * COLUMNS), COLUMNS)
        self._vector = torch.ones(COLUMNS)
        self.taken: dict[str, list[int]] = {"sum": [], "product": []}

    def read(self) -> None:
        """Once in each way."""
        self.taken["sum"].append(_timed(self._matrix.sum))
        self.taken["product"].append(_timed(lambda: torch.mv(self._matrix, self._vector)))

    def gb_per_s(self) -> list[float]:
        """Of each reading in the faster way."""
        return [self._matrix.nbytes / one for one in min(self.taken.values(), key=statistics.median)]


def _timed(call: Callable[[], object]) -> int:
    start = clock()
    call()
    return clock() - start


def load_sides(model: str, threads: int, steps: int, scratch: Path) -> tuple[list[Side], list[Prompt], list[str]]:
    """All sides that there are, the two prompts, and which sides are left out and why."""
    plain = Engine.load(model, threads=threads)
    sides = [ours(plain, BF16), ours(Engine.load(f"{model}:int4", threads=threads), INT4)]
    with operations_of("cpu"):
        sides.append(ours(Engine.load(model, threads=threads), EAGER, "cpu"))
    sides += [transformers_side(model, dtype) for dtype in (torch.bfloat16, torch.float32)]
    file = None if random_shape(model) else gguf_file(find_model(model))
    if file is None:
        missing = ["llama.cpp is left out: it reads GGUF files, and this model is not one"]
    else:
        missing = _add_llama_cpp(sides, file, threads, LONG + steps, scratch)
    return sides, [Prompt.of(plain.tokenizer, n) for n in (SHORT, LONG)], missing


def _add_llama_cpp(sides: list[Side], file: Path, threads: int, n_context: int, scratch: Path) -> list[str]:
    try:
        sides.append(llama_cpp_side(file, SHIPPED, threads, n_context))
        sides.append(llama_cpp_side(in_bfloat16(file, scratch / "bf16.gguf"), WIDENED, threads, n_context))
    except ImportError as error:
        return [f"llama.cpp is left out ({error}): pip install -r requirements-bench.txt"]
    return []


Times = dict[str, dict[str, list[list[int]]]]
"""Side -> pace -> round -> nanoseconds."""


def take_turns(sides: list[Side], prompts: list[Prompt], rounds: int, steps: int, reading: Reading) -> Times:
    """Let every side have its turn in every round."""
    short, long = prompts
    times: Times = {side.name: {pace: [] for pace in PACES} for side in sides}
    for side in sides:
        side.turn(long, 1)
    for _ in range(rounds):
        for side in sides:
            reading.read()
            # The threads of the one before are asleep by the time that counts, and this side's own are awake.
            side.turn(short, 2)
            prefill, decode = side.turn(short, steps)
            for pace, taken in ((DECODE, decode), (PREFILL_SHORT, [prefill]), (PREFILL_LONG, [side.turn(long, 0)[0]])):
                times[side.name][pace].append(taken)
    return times


def measure(model: str, rounds: int, steps: int, threads: int) -> dict[str, Any]:
    """One model, as a JSON-ready object. Raises ModelNotFound, CheckpointError."""
    torch.set_num_threads(threads)
    with tempfile.TemporaryDirectory() as scratch:
        sides, prompts, missing = load_sides(model, threads, steps, Path(scratch))
        reading = Reading()
        times = take_turns(sides, prompts, rounds, steps, reading)
    shape = random_shape(model)
    name = f"{shape.name}, random weights" if shape else find_model(model).name
    read = reading.gb_per_s()
    return {
        "model": name,
        "read_gb_s": statistics.median(read),
        "read_gb_s_spread": [min(read), max(read)],
        "sides": [_figures(side, times[side.name], statistics.median(read)) for side in sides],
        "rows": [{**row._asdict(), "verdict": row.verdict or None} for row in compare(name, sides, times, read)],
        "missing": missing,
    }


def _figures(side: Side, times: dict[str, list[list[int]]], read: float) -> dict[str, Any]:
    figures: dict[str, Any] = {"side": side.name, "weights": side.weights, "step_bytes": side.step_bytes}
    for pace, taken in times.items():
        each = [statistics.median(one) for one in taken]
        measured = Measured.of([ns for one in taken for ns in one])
        figures[pace] = {**asdict(measured), "run_to_run": (max(each) - min(each)) / statistics.median(each)}
    figures["share_of_reading"] = side.step_bytes / figures[DECODE]["median_ns"] / read
    return figures


def compare(model: str, sides: list[Side], times: Times, read: list[float]) -> list[Row]:
    """Ratios of all pairs that are here, then shares of the reading and tokens a second where they are wanted."""
    rows = []
    for pace in PACES:
        for mine, other in PAIRS:
            named = [side.name for side in sides if side.name == other or side.name.startswith(f"{other} ")]
            if mine in times and named:
                fastest = min(named, key=lambda name: _median(times[name][pace]))
                wanted = WANTED.get((model, pace, mine, other))
                rows.append(_ratio(f"{pace}: {mine} / {fastest}", times[mine][pace], times[fastest][pace], wanted))
    for side in sides:
        decode = times[side.name][DECODE]
        if wanted := WANTED_SHARE.get((model, side.name)):
            percent = 100 * side.step_bytes / statistics.median(read)
            rows.append(_per_ns(f"{side.name}, share of the reading", percent, decode, "%", 100 * wanted))
        if wanted := WANTED_TOKENS_PER_S.get((model, side.name)):
            rows.append(_per_ns(f"{side.name}, one sequence", 1e9, decode, "tokens/s", wanted))
    return rows


def _median(rounds: list[list[int]]) -> float:
    return statistics.median(ns for one in rounds for ns in one)


def _ratio(what: str, mine: list[list[int]], theirs: list[list[int]], wanted: float | None) -> Row:
    each = [statistics.median(b) / statistics.median(a) for a, b in zip(mine, theirs, strict=True)]
    return Row(what, _median(theirs) / _median(mine), min(each), max(each), "x", wanted)


def _per_ns(what: str, amount: float, rounds: list[list[int]], unit: str, wanted: float) -> Row:
    """An amount over the time of a step, in each round and all together."""
    each = [amount / statistics.median(one) for one in rounds]
    return Row(what, amount / _median(rounds), min(each), max(each), unit, wanted)


def _sides_table(result: dict[str, Any], title: str) -> Table:
    table = Table(
        title=f"{result['model']} on {title}, memory reads {result['read_gb_s']:.1f} GB/s", title_justify="left"
    )
    for name in ("side", "weights", "MB a step", "decode", "p5", "p95", "runs", "tokens/s", "of reading",
                 f"prefill {SHORT}", "runs", f"prefill {LONG}", "runs"):  # fmt: skip
        table.add_column(name, justify="left" if name in ("side", "weights") else "right")
    for one in result["sides"]:
        decode, short, long = (one[pace] for pace in PACES)
        table.add_row(
            one["side"], one["weights"], f"{one['step_bytes'] / 1e6:.1f}",
            *(f"{decode[name] / 1e6:.2f}" for name in ("median_ns", "p5_ns", "p95_ns")), _spread(decode),
            f"{1e9 / decode['median_ns']:,.0f}", f"{100 * one['share_of_reading']:.0f} %",
            f"{short['median_ns'] / 1e6:.1f}", _spread(short), f"{long['median_ns'] / 1e6:.1f}", _spread(long),
        )  # fmt: skip
    table.caption = f"Times in ms, medians; decode n = {result['sides'][0][DECODE]['n']}; runs: spread of the rounds"
    return table


def _spread(one: dict[str, Any]) -> str:
    return f"±{50 * one['run_to_run']:.0f} %"


def _rows_table(result: dict[str, Any]) -> Table:
    table = Table(title="How many times as fast, by medians; lowest and highest of the rounds", title_justify="left")
    for name in ("what", "value", "lowest", "highest", "wanted", ""):
        table.add_column(name, justify="left" if name in ("what", "") else "right")
    for row in result["rows"]:
        digits = 0 if row["unit"] != "x" else 2
        values = [f"{row[name]:,.{digits}f}" for name in ("value", "low", "high")]
        wanted = "" if row["wanted"] is None else f"{row['wanted']:,g} {row['unit']}"
        table.add_row(row["what"], f"{values[0]} {row['unit']}", *values[1:], wanted, row["verdict"] or "")
    return table


def main(
    model: Annotated[list[str] | None, typer.Option(help="Name or folder, or random:SHAPE; may be repeated.")] = None,
    rounds: Annotated[int, typer.Option(min=1, help="How often the sides take turns.")] = 10,
    steps: Annotated[int, typer.Option(min=1, help="Decode steps a turn.")] = 24,
    threads: Annotated[int, typer.Option(min=1, help="Compute threads, the same for every side.")] = 2,
    llama_cpp: Annotated[
        Path | None, typer.Option(help="Folder of llama-cpp-python, where pip put it elsewhere with --target.")
    ] = None,
) -> None:
    """Compare the engines; prints two tables a model and a last line of JSON."""
    if llama_cpp is not None:
        sys.path.append(str(llama_cpp))
    console = Console(width=max(150, Console().width))
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    results = []
    for name in model or MODELS:
        try:
            result = measure(name, rounds, steps, threads)
        except ModelNotFound as error:
            console.print(f"{error}")
            continue
        console.print(_sides_table(result, f"{cpu_name()}, {threads} thread(s)"), _rows_table(result))
        for why in result["missing"]:
            console.print(why)
        results.append(result)
        gc.unfreeze()
        gc.collect()
    print(json.dumps({"benchmark": "engines", "device": cpu_name(), "threads": threads, "load_average": load,
                      "rounds": rounds, "steps": steps, "models": results}))  # fmt: skip


if __name__ == "__main__":
    typer.run(main)
