"""What fewer bits a weight cost and what they bring: the odds beside those of bfloat16, and the speed.

    python -m benchmarks.quantized                               the bundled model
    python -m benchmarks.quantized --model random:Qwen3.5-0.8B   a shape with random weights: its speed only

Quality: fixed texts go through the model in bfloat16 and in every other format, and at every position the two
distributions of the next token are compared: their divergence in nats, and whether both have the same favourite. Rows
in brackets are what the engine does not do, for comparison: activations left in float32, a table of 8 bits over a body
of 4, an embedding that stays in bfloat16 beside the head.

Speed: decode steps and prefills of all formats take turns inside one process, and the machine's reading is measured
between them, so that a busy moment hits everyone. Medians; bytes are what the record counts for a decode step. A model
that stays in the processor's caches is read faster than memory could be.

The last line is the same as JSON.
"""

from __future__ import annotations

import functools
import json
import os
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import torch
import typer
from rich.console import Console
from rich.table import Table
from torch import Tensor

from engine.account.cost import Rates
from engine.account.hardware import cpu_name
from engine.account.record import Phase
from engine.loop.model_folder import find_model, random_shape
from engine.model.batch import Span
from engine.model.model import Model
from engine.model.quantize import WeightFormat
from engine.model.random_weights import random_model
from engine.model.tokenizer import Tokenizer
from kernels import dispatch
from kernels.quantized import PackedMatrix

FORMATS: tuple[WeightFormat, ...] = ("bf16", "int8", "int4")

TEXTS = (
    "Once upon a time, there was a little girl who found a blue key under a stone. She ran home to ask her mom which "
    "door it would open.",
    'Tom was sad because the wheel of his cart was broken. His dad said, "Let us look for some wood, and we will make '
    'a new one." They worked until it got dark.',
    "The old duck lived by the pond. Every morning she counted her eggs, and one morning there was one egg too many.",
    '"May I have the last cookie?" asked Ben. "Only if you share it with your sister," said Mom. Ben thought about it '
    "for a long time, and then he smiled.",
    "A small cloud wanted to see the sea. It asked the wind for help, but the wind was tired and wanted to sleep.",
    'Lily and Sam built a house of snow. When the sun came out, the house got smaller and smaller. "Do not cry," said '
    'Sam. "We can build a bigger one next winter."',
    "The cat looked at the fish, and the fish looked at the cat. Nobody moved. Then the phone rang, and the cat fell "
    "into the water.",
    "One day a bear came to the village. The people were scared and hid, but Anna gave him a jar of honey and told him "
    "the way back to the forest.",
)

BUFFER_BYTES = 128 << 20
STEPS = 4
"""Decode steps a turn."""

clock = time.perf_counter_ns


class Sequence:
    """One sequence of a model, in memory of its own."""

    def __init__(self, model: Model, n_positions: int) -> None:
        self.model = model
        self.memory = model.new_memory(n_slots=1, n_positions=n_positions)
        self.holding = self.memory.open()

    def feed(self, ids: list[int], phase: Phase, *, every: bool = False) -> Tensor:
        """Run these tokens in one pass: logits [1, vocab], or of every position."""
        start = self.memory.extend(self.holding, len(ids))
        span = Span(ids, start, phase, self.holding, "all" if every else "last")
        return self.model.forward([span], self.memory)


def load(model: str, weights: WeightFormat) -> Model:
    """A model by name, folder or `random:<shape>`, in this format."""
    if shape := random_shape(model):
        return random_model(shape, weights=weights)
    return Model.load(find_model(model), weights=weights)


def log_odds(model: Model, prompts: list[list[int]]) -> Tensor:
    """The odds of the next token after every position of all prompts, as logarithms [positions, vocab]."""
    logits = [Sequence(model, len(ids)).feed(ids, "prefill", every=True) for ids in prompts]
    return torch.cat(logits).double().log_softmax(-1)


def compare(exact: Tensor, other: Tensor) -> dict[str, Any]:
    """How far the other odds are from the exact ones, both as logarithms."""
    nats = (exact.exp() * (exact - other)).sum(-1)
    return {
        "positions": len(nats),
        "divergence_mean": float(nats.mean()),
        "divergence_median": float(nats.median()),
        "divergence_worst": float(nats.max()),
        "same_top_choice": float((exact.argmax(-1) == other.argmax(-1)).double().mean()),
    }


def quality(model: str, models: dict[WeightFormat, Model]) -> list[dict[str, Any]]:
    """A row for every format and for every choice that was not taken."""
    tokenizer = Tokenizer(find_model(model))
    prompts = [tokenizer.encode(text) for text in TEXTS]
    plain, int4 = models["bf16"], models["int4"]
    exact = log_odds(plain, prompts)

    def row(name: str, one: Model, added_bytes: int = 0) -> dict[str, Any]:
        bits = 8 * (one.shape.weight_bytes + added_bytes) / one.shape.parameters
        return {"what": name, "bits_a_weight": bits, **compare(exact, log_odds(one, prompts))}

    rows = []
    for weights in FORMATS[1:]:
        rows.append(row(weights, models[weights]))
        with dispatch.override_all("cpu"):
            rows.append(row(f"({weights}, float32 activations)", models[weights]))
    eight = PackedMatrix.pack(plain.head.to(torch.bfloat16), 8)
    added, tied = eight.nbytes - int4.head.nbytes, int4.head is int4.embedding
    with _swapped(int4, head=eight, embedding=eight if tied else int4.embedding):
        rows.append(row("(int4, head in 8 bits)", int4, added))
    with _swapped(int4, embedding=plain.embedding):
        rows.append(row("(int4, embedding in bf16)", int4, plain.embedding.nbytes))
    return rows


@contextmanager
def _swapped(model: Model, **tables: Any) -> Iterator[None]:
    """The model with other tables for a while; for prefills, since recorded steps would go on with those they know."""
    before = {name: getattr(model, name) for name in tables}
    try:
        for name, table in tables.items():
            setattr(model, name, table)
        yield
    finally:
        for name, table in before.items():
            setattr(model, name, table)


def speed(models: dict[WeightFormat, Model], rounds: int, prompt: int) -> dict[str, Any]:
    """Decode steps, prefills of `prompt` tokens and readings of memory, in turns."""
    ids = [1 + 7 * i % 250 for i in range(prompt)]
    steps: dict[str, list[int]] = {weights: [] for weights in models}
    prefills: dict[str, list[int]] = {weights: [] for weights in models}
    readings = []
    buffer = torch.ones(BUFFER_BYTES // 4)
    sequences = {weights: Sequence(model, prompt + rounds * STEPS + 1) for weights, model in models.items()}
    for weights, sequence in sequences.items():
        prefills[weights].append(_timed(functools.partial(sequence.feed, ids, "prefill")))
        sequence.feed(ids[:1], "decode")
    for _ in range(rounds):
        for weights, sequence in sequences.items():
            steps[weights] += [_timed(functools.partial(sequence.feed, ids[:1], "decode")) for _ in range(STEPS)]
            fresh = Sequence(models[weights], prompt)
            prefills[weights].append(_timed(functools.partial(fresh.feed, ids, "prefill")))
        readings.append(_timed(buffer.sum))
    read = BUFFER_BYTES / statistics.median(readings)
    # The first prefill of a format touches its weights and buffers for the first time.
    figures = {weights: _figures(models[weights], steps[weights], prefills[weights][1:], read) for weights in models}
    for one in figures.values():
        one["decode_ratio"] = figures["bf16"]["decode_ns"] / one["decode_ns"]
        one["prefill_ratio"] = figures["bf16"]["prefill_ns"] / one["prefill_ns"]
    return {"read_gb_s": read, "prompt": prompt, "formats": figures}


def _figures(model: Model, steps: list[int], prefills: list[int], read: float) -> dict[str, Any]:
    step_bytes = Rates.of(model.shape).weight_bytes(1, 1)
    decode = statistics.median(steps)
    return {
        "weight_dtype": model.shape.weight_dtype,
        "bits_a_weight": 8 * model.shape.weight_bytes / model.shape.parameters,
        "step_bytes": step_bytes,
        "decode_ns": decode,
        "decode_fastest_ns": min(steps),
        "prefill_ns": statistics.median(prefills),
        "share_of_read": step_bytes / decode / read,
    }


def _timed(call: Callable[[], object]) -> int:
    start = clock()
    call()
    return clock() - start


def measure(model: str, rounds: int, prompt: int, threads: int) -> dict[str, Any]:
    """Everything, as a JSON-ready object; quality is None where the weights say nothing."""
    torch.set_num_threads(threads)
    models = {weights: load(model, weights) for weights in FORMATS}
    return {
        "benchmark": "quantized",
        "model": models["bf16"].shape.name,
        "device": cpu_name(),
        "threads": threads,
        "kernels": dispatch.in_use(),
        "load_average": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "quality": None if random_shape(model) else quality(model, models),
        **speed(models, rounds, prompt),
    }


def _quality_table(rows: list[dict[str, Any]]) -> Table:
    table = Table(title=f"Odds beside those of bf16, {rows[0]['positions']} positions", title_justify="left")
    for name in ("weights", "bits a weight", "nats, mean", "median", "worst", "same favourite"):
        table.add_column(name, justify="left" if name == "weights" else "right")
    for row in rows:
        nats = (f"{row[f'divergence_{name}']:.5f}" for name in ("mean", "median", "worst"))
        table.add_row(row["what"], f"{row['bits_a_weight']:.2f}", *nats, f"{100 * row['same_top_choice']:.1f} %")
    return table


def _speed_table(result: dict[str, Any]) -> Table:
    title = (
        f"{result['model']} on {result['device']}, {result['threads']} thread(s), reads {result['read_gb_s']:.1f} GB/s"
    )
    table = Table(title=title, title_justify="left")
    prefill = f"prefill of {result['prompt']}"
    for name in ("weights", "MB a step", "decode", "against bf16", "of the reading", prefill, "against bf16"):
        table.add_column(name, justify="left" if name == "weights" else "right")
    for one in result["formats"].values():
        table.add_row(
            one["weight_dtype"], f"{one['step_bytes'] / 1e6:.1f}",
            f"{one['decode_ns'] / 1e6:.2f} ms", f"{one['decode_ratio']:.2f}x", f"{100 * one['share_of_read']:.0f} %",
            f"{one['prefill_ns'] / 1e6:.1f} ms", f"{one['prefill_ratio']:.2f}x",
        )  # fmt: skip
    return table


def main(
    model: Annotated[str, typer.Option(help="Name or folder of a model, or random:<shape>.")] = "story",
    rounds: Annotated[int, typer.Option(min=1, help="How often the formats take turns.")] = 10,
    prompt: Annotated[int, typer.Option(min=1, help="Tokens of the prefills.")] = 512,
    threads: Annotated[int, typer.Option(min=1, help="Compute threads.")] = 2,
) -> None:
    """Measure quality and speed of the formats; prints two tables and a last line of JSON."""
    result = measure(model, rounds, prompt, threads)
    console = Console(width=max(110, Console().width))
    if result["quality"]:
        console.print(_quality_table(result["quality"]))
    console.print(_speed_table(result))
    print(json.dumps(result))


if __name__ == "__main__":
    typer.run(main)
