"""What lesson 6 shows of weights in fewer bits: odds, texts and speed of 8 and 4 bits beside bfloat16.

    python -m benchmarks.fewer_bits --keep

The bundled model gives odds (as `benchmarks.quantized` compares them) and greedy texts. Its weights fit into a cache,
so speed is measured of a larger shape with random weights as well. All formats of a model take turns inside one process
on one thread, and processor time is counted, so that other programs disturb little; each figure is the median.

Prints a table and a last line of JSON; `--keep` writes lessons/measurements/fewer-bits.json.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Annotated

import msgspec
import torch
import typer
from rich.console import Console
from rich.table import Table

from benchmarks.quantized import FORMATS, TEXTS, Sequence, compare, load, log_odds
from engine.account.cost import Rates
from engine.account.hardware import cpu_name
from engine.loop.model_folder import find_model, random_shape
from engine.model.model import Model
from engine.model.quantize import WeightFormat
from engine.model.tokenizer import Tokenizer
from lessons.fewer_bits import FewerBits, Format, ModelMeasured, Odds, place

PROMPTS = ("Once upon a time, there was a", "Tom was sad because", "The little duck")
NEW_TOKENS = 40
STEPS = 4
"""Decode steps a turn."""
HOW = "python -m benchmarks.fewer_bits: processor time of one thread, formats in turns, medians"


def measure_model(name: str, rounds: int, prompt: int) -> ModelMeasured:
    """All formats of one model, by name, folder or `random:<shape>`."""
    models = {weights: load(name, weights) for weights in FORMATS}
    is_random = random_shape(name) is not None
    odds = _odds(name, models) if not is_random else {}
    decodes, prefills = _times(list(models.values()), rounds, prompt)
    formats = [
        Format(
            weights=weights, weight_dtype=model.shape.weight_dtype,
            bits_a_weight=8 * model.shape.weight_bytes / model.shape.parameters,
            weight_bytes=model.shape.weight_bytes, step_bytes=Rates.of(model.shape).weight_bytes(1, 1),
            decode_ns=round(statistics.median(decodes[at])), prefill_ns=round(statistics.median(prefills[at])),
            odds=odds.get(weights), texts=[] if is_random else [_text(name, model, one) for one in PROMPTS],
        )
        for at, (weights, model) in enumerate(models.items())
    ]  # fmt: skip
    shape = models["bf16"].shape.name
    return ModelMeasured(shape, is_random, prompt, len(decodes[0]), len(prefills[0]), formats)


def _odds(name: str, models: dict[WeightFormat, Model]) -> dict[WeightFormat, Odds]:
    tokenizer = Tokenizer(find_model(name))
    prompts = [tokenizer.encode(text) for text in TEXTS]
    exact = log_odds(models["bf16"], prompts)
    compared = {weights: compare(exact, log_odds(models[weights], prompts)) for weights in FORMATS[1:]}
    return {
        weights: Odds(one["positions"], one["divergence_mean"], one["divergence_worst"], one["same_top_choice"])
        for weights, one in compared.items()
    }


def _text(name: str, model: Model, prompt: str) -> str:
    """The likeliest token each time, without an end-of-text stop."""
    tokenizer = Tokenizer(find_model(name))
    ids = tokenizer.encode(prompt)
    sequence = Sequence(model, len(ids) + NEW_TOKENS)
    logits = sequence.feed(ids, "prefill")
    written: list[int] = []
    for _ in range(NEW_TOKENS):
        written.append(int(logits[0].argmax()))
        logits = sequence.feed(written[-1:], "decode")
    return tokenizer.decode(written)


def _times(models: list[Model], rounds: int, prompt: int) -> tuple[list[list[int]], list[list[int]]]:
    """Nanoseconds of decode steps after a prompt, and of prefills, for each model; what warms up is not kept."""
    ids = [1 + 7 * at % 250 for at in range(prompt)]
    sequences = [Sequence(model, prompt + (rounds + 1) * STEPS) for model in models]
    decodes: list[list[int]] = [[] for _ in models]
    prefills: list[list[int]] = [[] for _ in models]
    for sequence in sequences:
        sequence.feed(ids, "prefill")
    for turn in range(rounds + 1):
        for at, model in enumerate(models):
            steps = [_timed(partial(sequences[at].feed, ids[:1], "decode")) for _ in range(STEPS)]
            prefill = _timed(partial(Sequence(model, prompt).feed, ids, "prefill"))
            if turn:
                decodes[at] += steps
                prefills[at].append(prefill)
    return decodes, prefills


def _timed(call: Callable[[], object]) -> int:
    start = time.thread_time_ns()
    call()
    return time.thread_time_ns() - start


def _show(found: FewerBits) -> None:
    table = Table(title=f"{found.machine}, {found.how}", title_justify="left")
    for name in ("model", "weights", "MB a step", "decode", "prefill", "nats, mean", "same favourite"):
        table.add_column(name, justify="left" if name in ("model", "weights") else "right")
    for model in found.models:
        for one in model.formats:
            odds = (f"{one.odds.divergence_mean:.5f}", f"{one.odds.same_top_choice:.1%}") if one.odds else ("", "")
            times = (f"{one.decode_ns / 1e6:.2f} ms", f"{one.prefill_ns / 1e6:.1f} ms")
            table.add_row(model.model, one.weight_dtype, f"{one.step_bytes / 1e6:.1f}", *times, *odds)
    Console(width=120).print(table)


def main(
    models: Annotated[list[str] | None, typer.Argument(help="Names, folders or random:<shape>.")] = None,
    rounds: Annotated[int, typer.Option(min=1, help="How often the formats take turns.")] = 5,
    prompt: Annotated[int, typer.Option(min=1, help="Tokens of the prefills.")] = 32,
    keep: Annotated[bool, typer.Option("--keep", help="Write what lesson 6 shows.")] = False,
) -> None:
    """Measure, print, and keep if asked to."""
    torch.set_num_threads(1)
    with torch.inference_mode():
        measured = [measure_model(name, rounds, prompt) for name in models or ("story", "random:Qwen3.5-0.8B")]
    created = datetime.now(UTC).isoformat(timespec="seconds")
    found = FewerBits(created, cpu_name(), 1, HOW, list(PROMPTS), NEW_TOKENS, measured)
    if keep:
        place().write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n")
    _show(found)
    print(msgspec.json.encode(found).decode())


if __name__ == "__main__":
    typer.run(main)
