"""Many requests on one model, measured at the engine: what sharing a step gives, what it costs, what planning takes.

    python -m benchmarks.serving

Four questions, each answered by runs that alternate inside one process, so that a busy moment of the machine hits both
sides:

1. Output tokens a second of 1, 2, 4, 8 and 16 decoding sequences, against one alone.
2. A 1,500-token prompt arrives among eight decoders: their longest gap against their median one, with chunks of several
   sizes and with the prompt taken whole, and how long the newcomer waits for its first token.
3. The scheduler's own time as a share of a step.
4. Drafts by prompt lookup on a text that repeats itself: tokens a pass, and time a token against none.

Medians over rounds with the lowest and highest; the last line is the same as JSON.
"""

from __future__ import annotations

import itertools
import json
import os
import statistics
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any

import numpy as np
import torch
import typer
from rich.console import Console
from rich.table import Table

from engine import Engine, Request, Run, SamplingParams
from engine.account.metrics import timings
from engine.account.record import Serving
from engine.account.step_record import StepRow
from engine.loop.engine import SWITCH_S
from engine.loop.policy import Policy
from engine.loop.run_log import RunLog

PROMPT = "Once upon a time, there was a"
BATCHES = (1, 2, 4, 8, 16)
N_DECODERS = 8
LONG_PROMPT = 1500
SMALLEST = 4
CHUNKS: tuple[int | None, ...] = (SMALLEST, 8, 16, 32, 64, 128, None)
REPEATING = "The cat sat on the mat. The dog sat on the log. " * 6

Spread = dict[str, float]


def spread(values: list[float]) -> Spread:
    """Median, lowest, highest and how many."""
    return {"median": statistics.median(values), "low": min(values), "high": max(values), "n": len(values)}


def finish(engine: Engine, logs: list[RunLog]) -> list[Run]:
    """Step until all of these have ended."""
    while not all(log.ended for log in logs):
        engine.step()
    return [log.run for log in logs]


def ask(prompt: str, new: int, serving: Serving | None = None) -> Request:
    """A greedy request that goes on after an end-of-text token, so that counts are equal."""
    return Request(prompt, SamplingParams(max_new_tokens=new, ignore_eos=True), serving=serving or Serving())


def decode_rate(engine: Engine, n: int, new: int) -> float:
    """Output tokens a second while `n` sequences decode together, from their pure decode steps."""
    first = engine.steps.count
    finish(engine, [engine.submit(ask(PROMPT, new)) for _ in range(n)])
    steps = [row for row in engine.steps.since(first) if all(share.phase == "decode" for share in row.shares)]
    # The median step, so that a moment in which the machine was elsewhere does not count.
    step_ns = statistics.median(row.end_ns - row.start_ns for row in steps if len(row.shares) == n)
    return n * 1e9 / step_ns


def sharing(engine: Engine, rounds: int, new: int) -> dict[str, Any]:
    """Question 1: rates by batch size, and each round's ratio to one alone."""
    engine.policy = Policy()
    rates = {n: [] for n in BATCHES}  # type: dict[int, list[float]]
    for _ in range(rounds):
        for n in BATCHES:
            rates[n].append(decode_rate(engine, n, new))
    ratios = {n: [rate / alone for rate, alone in zip(rates[n], rates[1], strict=True)] for n in BATCHES}
    return {
        "tokens_per_s": {n: spread(values) for n, values in rates.items()},
        "ratio_to_one": {n: spread(values) for n, values in ratios.items()},
    }


def decoding(engine: Engine, chunk: int | None) -> tuple[list[RunLog], int]:
    """Decoders that are well under way, and the number of the next step."""
    engine.policy = Policy(chunk=chunk)
    decoders = [engine.submit(ask(PROMPT, 600)) for _ in range(N_DECODERS)]
    for _ in range(60):
        engine.step()
    return decoders, engine.steps.count


def collide(engine: Engine, chunk: int | None, long_prompt: str) -> dict[str, float]:
    """One long prompt among decoders: their gaps while it comes in, and its time to first token."""
    decoders, first = decoding(engine, chunk)
    with ThreadPoolExecutor() as visitors:
        # As a server has it: a prompt is cut into tokens on its visitor's thread, while the others' steps go on.
        newcomer = visitors.submit(engine.submit, ask(long_prompt, 2))
        while not newcomer.done():
            engine.step()
    (run,) = finish(engine, [newcomer.result()])
    seen = gaps(engine, decoders, first)
    seen["ttft_ms"] = (timings(run).ttft_ns or 0) / 1e6
    seen["prefill_passes"] = sum(one.phase == "prefill" for one in run.passes)
    return seen


def undisturbed(engine: Engine) -> dict[str, float]:
    """The same decoders for as many steps as the smallest chunks take, and nobody comes: what else makes them wait."""
    decoders, first = decoding(engine, None)
    for _ in range(LONG_PROMPT // SMALLEST):
        engine.step()
    return gaps(engine, decoders, first)


def gaps(engine: Engine, decoders: list[RunLog], first: int) -> dict[str, float]:
    """How far apart the steps from number `first` on ended, against the median step before; the decoders leave."""
    for log in decoders:
        log.cancel()
    engine.step()
    rows = engine.steps.since(first - 40)
    median_ns = statistics.median(row.end_ns - row.start_ns for row in rows if row.number < first)
    apart = [later.end_ns - row.end_ns for row, later in itertools.pairwise(rows) if later.number >= first]
    return {
        "worst_gap_to_median_step": max(apart) / median_ns,
        "p95_gap_to_median_step": float(np.percentile(apart, 95)) / median_ns,
        "worst_gap_ms": max(apart) / 1e6,
        "median_step_ms": median_ns / 1e6,
    }


def collisions(engine: Engine, rounds: int) -> dict[str, Any]:
    """Question 2, by chunk size; "whole" takes the prompt in one piece, "nobody comes" is what to compare with."""
    long_prompt = _prompt_of(engine, LONG_PROMPT)
    seen: dict[str, list[dict[str, float]]] = {}
    for _ in range(rounds):
        seen.setdefault("nobody comes", []).append(undisturbed(engine))
        for chunk in CHUNKS:
            seen.setdefault(str(chunk or "whole"), []).append(collide(engine, chunk, long_prompt))
    return {
        chunk: {name: spread([one[name] for one in results]) for name in results[0]} for chunk, results in seen.items()
    }


def planning(engine: Engine, rounds: int, new: int) -> dict[str, Any]:
    """Question 3: planning time over step time, step by step, with 1 and with 16 sequences."""
    engine.policy = Policy()
    result = {}
    for n in (1, 16):
        rows: list[StepRow] = []
        for _ in range(rounds):
            first = engine.steps.count
            finish(engine, [engine.submit(ask(PROMPT, new)) for _ in range(n)])
            rows += engine.steps.since(first)
        result[str(n)] = spread([row.planning_ns / (row.planning_ns + row.end_ns - row.start_ns) for row in rows])
    return result


def drafting(engine: Engine, rounds: int) -> dict[str, Any]:
    """Question 4: the same continuation with and without drafts, in turns."""
    engine.policy = Policy()
    kinds = {"none": Serving(), "lookup": Serving(drafts="prompt_lookup", n_drafts=4)}
    times: dict[str, list[float]] = {kind: [] for kind in kinds}
    per_pass = 0.0
    for _ in range(rounds):
        for kind, serving in kinds.items():
            run = engine.run(ask(REPEATING, 120, serving))
            times[kind].append((timings(run).e2e_ns or 0) / 1e6)
            per_pass = len(run.emissions) / len(run.passes) if kind == "lookup" else per_pass
    ratio = [plain / drafted for plain, drafted in zip(times["none"], times["lookup"], strict=True)]
    return {"tokens_a_pass": per_pass, "speed_up": spread(ratio)}


def _prompt_of(engine: Engine, n_tokens: int) -> str:
    words = ["the", "little", "dog", "saw", "a", "big", "tree", "and", "ran", "to", "the", "old", "king", "."]
    text = ""
    for word in itertools.cycle(words):
        if len(engine.tokenizer.encode(text)) >= n_tokens:
            return text
        text += f" {word}"
    raise AssertionError("a cycle has no end")


def _table(title: str, columns: tuple[str, ...], rows: list[tuple[str, ...]]) -> Table:
    table = Table(title=title, title_justify="left")
    for column in columns:
        table.add_column(column, justify="right")
    for row in rows:
        table.add_row(*row)
    return table


def _show(spread_: Spread, digits: int = 2) -> str:
    return f"{spread_['median']:.{digits}f} ({spread_['low']:.{digits}f} to {spread_['high']:.{digits}f})"


def _tables(result: dict[str, Any]) -> list[Table]:
    shared, hit = result["sharing"], result["collision"]
    return [
        _table(
            "Sequences decoding together", ("n", "tokens/s", "times one alone"),
            [(str(n), _show(shared["tokens_per_s"][n], 0), _show(shared["ratio_to_one"][n])) for n in BATCHES],
        ),
        _table(
            f"A {LONG_PROMPT}-token prompt among {N_DECODERS} decoders",
            ("chunk", "worst gap / median step", "p95 gap / median step", "worst gap ms", "newcomer's TTFT ms"),
            [
                (
                    chunk, _show(one["worst_gap_to_median_step"]), _show(one["p95_gap_to_median_step"]),
                    _show(one["worst_gap_ms"]), _show(one["ttft_ms"], 0) if "ttft_ms" in one else "",
                )
                for chunk, one in hit.items()
            ],
        ),
        _table(
            "The scheduler's share of a step", ("sequences", "share"),
            [(n, f"{100 * one['median']:.1f} %") for n, one in result["planning"].items()],
        ),
        _table(
            "Drafts by prompt lookup on a repeating text", ("tokens a pass", "times faster"),
            [(f"{result['drafts']['tokens_a_pass']:.2f}", _show(result["drafts"]["speed_up"]))],
        ),
    ]  # fmt: skip


def main(
    rounds: Annotated[int, typer.Option(min=2, help="How often each is measured.")] = 5,
    new: Annotated[int, typer.Option(min=20, help="Tokens of each decode run.")] = 120,
    threads: Annotated[int | None, typer.Option(min=1, help="Compute threads; by default two.")] = None,
) -> None:
    """Measure and print; see the module's docstring."""
    sys.setswitchinterval(SWITCH_S)  # as a server's engine has it
    with Engine.load("story", threads=threads) as engine:
        sharing(engine, 1, 20)  # warm-up: every batch size is recorded once
        questions: dict[str, Callable[[], Any]] = {
            "sharing": lambda: sharing(engine, rounds, new),
            "collision": lambda: collisions(engine, rounds),
            "planning": lambda: planning(engine, rounds, new),
            "drafts": lambda: drafting(engine, rounds),
        }
        result: dict[str, Any] = {name: question() for name, question in questions.items()}
    result["threads"], result["cores"] = torch.get_num_threads(), os.cpu_count()
    console = Console()
    for table in _tables(result):
        console.print(table)
    print(json.dumps(result))


if __name__ == "__main__":
    typer.run(main)
