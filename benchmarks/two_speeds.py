"""The two speeds of the bundled model, measured at the engine, without a server or a page.

    python -m benchmarks.two_speeds

Three questions, each answered by runs that alternate inside one process, so that a busy moment of the machine hits both
sides:

1. How long until the first token of the 8-token prompt?
2. How long from one token to the next, here and in transformers' `generate` on the same checkpoint (in the faster of
   bfloat16 and float32)?
3. What does recording a pass add to a decode step? A step only notes what happened. What it costs to write the note out
   with odds and costs, off the step but on the same machine, is a row of its own.

Medians, with n and the 5th and 95th percentile; the last line is the same as JSON.
"""

from __future__ import annotations

import itertools
import json
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import torch
import typer
from rich.console import Console
from rich.table import Table

from engine import Engine, Request, SamplingParams
from engine.account.metrics import percentile, timings
from engine.loop.model_folder import find_model

PROMPT = "Once upon a time, there was a"

clock = time.perf_counter_ns


@dataclass(frozen=True)
class Measured:
    """Nanoseconds: the median, how many values it is of, and how far they spread."""

    median_ns: float
    n: int
    p5_ns: int
    p95_ns: int

    @classmethod
    def of(cls, values: list[int]) -> Measured:
        """Summarise at least one value."""
        low, high = percentile(values, 5), percentile(values, 95)
        assert low is not None
        assert high is not None
        return cls(statistics.median(values), len(values), low, high)


def time_to_first_token(engine: Engine, n: int) -> Measured:
    """TTFT of the 8-token prompt: arrival, tokenising and queue included."""
    request = Request(PROMPT, SamplingParams(max_new_tokens=1))
    return Measured.of([timings(engine.run(request)).ttft_ns or 0 for _ in range(n)])


def decode_here(engine: Engine, new: int) -> list[int]:
    """The gaps between the tokens of one greedy run."""
    request = Request(PROMPT, SamplingParams(max_new_tokens=new, ignore_eos=True))
    return list(timings(engine.run(request)).itl_ns)


def transformers_decode(folder: Path, dtype: torch.dtype) -> Callable[[int], list[int]]:
    """A function that generates so many greedy tokens with transformers and returns the gaps between them."""
    from transformers import AutoTokenizer, Qwen3_5ForCausalLM

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = Qwen3_5ForCausalLM.from_pretrained(folder, dtype=dtype).eval()
    inputs = tokenizer(PROMPT, return_tensors="pt")

    def generate(new: int) -> list[int]:
        instants: list[int] = []

        def note(ids: torch.Tensor, _scores: torch.Tensor, **_: Any) -> torch.Tensor:
            # Called after each token exists; says for each sequence whether to stop.
            instants.append(clock())
            return torch.zeros(len(ids), dtype=torch.bool)

        model.generate(
            **inputs, do_sample=False, max_new_tokens=new, min_new_tokens=new, stopping_criteria=[note],
            pad_token_id=0,
        )  # fmt: skip
        return [later - earlier for earlier, later in itertools.pairwise(instants)]

    return generate


def step_times(engine: Engine, new: int) -> tuple[int, int]:
    """One run's median decode step (plan, compute, sample, note), and what writing its record out takes a pass."""
    log = engine.submit(Request(PROMPT, SamplingParams(max_new_tokens=new, ignore_eos=True)))
    engine.step()
    instants = [clock()]
    while not log.ended:
        engine.step()
        instants.append(clock())
    _ = log.run
    steps = [later - earlier for earlier, later in itertools.pairwise(instants)]
    return int(statistics.median(steps)), (clock() - instants[-1]) // new


def measure(model: str, rounds: int, new: int, threads: int | None) -> dict[str, Any]:
    """All three answers, as a JSON-ready object."""
    folder = find_model(model)
    engine, silent = Engine.load(folder, threads=threads), Engine.load(folder, threads=threads, record=False)
    others = {name: transformers_decode(folder, getattr(torch, name)) for name in ("bfloat16", "float32")}
    for generate in others.values():
        generate(8)
    gaps: dict[str, list[int]] = {name: [] for name in ("engine", *others)}
    recorded, silent_ones = [], []
    ttft = time_to_first_token(engine, 5 * rounds)
    for _ in range(rounds):
        gaps["engine"] += decode_here(engine, new)
        for name, generate in others.items():
            gaps[name] += generate(new)
        # Recording costs microseconds: many short turns, so that both sides see the same machine.
        for _ in range(8):
            recorded.append(step_times(engine, new))
            silent_ones.append(step_times(silent, new))
    return {**_about(engine), "ttft": asdict(ttft), **_decode(gaps), **_recording(recorded, silent_ones)}


def _about(engine: Engine) -> dict[str, Any]:
    device = engine.run(Request(PROMPT, SamplingParams(max_new_tokens=1))).header.device
    return {
        "benchmark": "two_speeds",
        "model": engine.shape.name,
        "device": device.name,
        "threads": device.threads,
        "kernels": device.kernels,
        "load_average": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
    }


def _decode(gaps: dict[str, list[int]]) -> dict[str, Any]:
    here, *others = (Measured.of(values) for values in gaps.values())
    return {
        "decode": asdict(here),
        "transformers_decode": {name: asdict(one) for name, one in zip(list(gaps)[1:], others, strict=True)},
        "decode_ratio": min(one.median_ns for one in others) / here.median_ns,
    }


def _recording(recorded: list[tuple[int, int]], silent: list[tuple[int, int]]) -> dict[str, Any]:
    """Each pair is (a turn's median step, writing out a pass); turns of the two sides alternate."""
    step, without = (Measured.of([step for step, _ in turns]) for turns in (recorded, silent))
    # Neighbours in time are compared: the machine's other work differs more between turns than recording costs.
    added = statistics.median(one - other for (one, _), (other, _) in zip(recorded, silent, strict=True))
    return {
        "step_recorded": asdict(step),
        "step_not_recorded": asdict(without),
        "recording_percent": 100 * added / without.median_ns,
        "writing_out": asdict(Measured.of([writing for _, writing in recorded])),
    }


def _table(result: dict[str, Any]) -> Table:
    load = "unknown" if result["load_average"] is None else f"{result['load_average']:.1f}"
    title = f"{result['model']} on {result['device']}, {result['threads']} thread(s), load {load}"
    table = Table(title=title, title_justify="left")
    for name in ("what", "median", "p5", "p95", "n", "against", "wanted"):
        table.add_column(name, justify="left" if name == "what" else "right")
    ratio, recording = f"{result['decode_ratio']:.1f}x", f"{result['recording_percent']:+.1f} %"
    rows = [("first token, 8-token prompt", result["ttft"], "", "under 30 ms")]
    rows.append(("token to token, here", result["decode"], ratio, "at least 5x"))
    for name, one in result["transformers_decode"].items():
        rows.append((f"token to token, transformers {name}", one, "", ""))
    rows.append(("decode step, recorded", result["step_recorded"], recording, "under 3 %"))
    rows.append(("decode step, not recorded", result["step_not_recorded"], "", ""))
    rows.append(("writing a pass out, when it is read", result["writing_out"], "", ""))
    for what, one, against, wanted in rows:
        values = [f"{one[name] / 1e6:.3f} ms" for name in ("median_ns", "p5_ns", "p95_ns")]
        table.add_row(what, *values, str(one["n"]), against, wanted)
    return table


def main(
    model: Annotated[str, typer.Option(help="Name or folder of the model.")] = "story",
    rounds: Annotated[int, typer.Option(min=1, help="How often the sides take turns.")] = 5,
    new: Annotated[int, typer.Option(min=2, help="Tokens a run.")] = 64,
    threads: Annotated[int | None, typer.Option(min=1, help="Compute threads; by default two.")] = None,
) -> None:
    """Measure the two speeds; prints a table and a last line of JSON."""
    result = measure(model, rounds, new, threads)
    # Wide enough for the table where standard output is a file or a narrow window.
    Console(width=max(110, Console().width)).print(_table(result))
    print(json.dumps(result))


if __name__ == "__main__":
    typer.run(main)
