"""Which memory holds a name: a text plants one of several, a later place asks for it, and the memories are exchanged.

    python -m benchmarks.recall [--save lessons/measurements/recall.json]

Two texts differ in a name alone, so their tokens stand at the same positions. Both are read up to the place where
the name is asked for. There the model gets the question's tokens four times: after either text, and with the KV cache
of one text and the recurrent states of the other (activation patching; Vig et al. 2020, Meng et al. 2022). How far the
odds of the two names move tells how much of the planted name came through each kind of memory. Every name meets every
other.

A table of means over the pairs; the last line is the same as JSON.
"""

from __future__ import annotations

import datetime
import itertools
import statistics
from pathlib import Path
from typing import Annotated

import msgspec
import torch
import typer
from rich.console import Console
from rich.table import Table
from torch import Tensor

from engine.loop.loading import load_parts
from engine.memory.memory import Holding, Memory
from engine.model.batch import Span
from engine.model.model import Model
from lessons.recall import ASK, STRETCHES, Place, Recall, planted

NAMES = ("Lily", "Tom", "Ben", "Mia", "Sam", "Max", "Sue", "Anna", "Tim", "Lucy")
"""Each is one token of the story model after a space."""


class Readings:
    """One distance: every name's text read up to the question, and the odds after the question."""

    def __init__(self, model: Model, memory: Memory, texts: dict[str, list[int]], ask: list[int]) -> None:
        self._model, self._memory, self._ask = model, memory, ask
        self._read = {name: self._feed(memory.open(), ids) for name, ids in texts.items()}

    def log_odds(self, cache_of: str, states_of: str) -> Tensor:
        """Natural logarithms of the odds [vocab] after the question, with each memory from the text that it names."""
        memory = self._memory
        mixed = memory.fork(self._read[cache_of])
        try:
            source = self._read[states_of].slot
            memory.slots.states[:, mixed.slot] = memory.slots.states[:, source]
            memory.slots.windows[:, mixed.slot] = memory.slots.windows[:, source]
            start = memory.extend(mixed, len(self._ask))
            logits = self._model.forward([Span(self._ask, start, "prefill", mixed)], memory)
            return torch.log_softmax(logits[0].double(), -1)
        finally:
            memory.close(mixed)

    def close(self) -> None:
        """Give the memory back."""
        for holding in self._read.values():
            self._memory.close(holding)

    def _feed(self, holding: Holding, ids: list[int]) -> Holding:
        self._memory.extend(holding, len(ids))
        self._model.forward([Span(ids, 0, "prefill", holding, "none")], self._memory)
        return holding


def measure(
    model_name: str = "story", names: tuple[str, ...] = NAMES, stretches: tuple[int, ...] = STRETCHES
) -> Recall:
    """Read, exchange, ask; a minute or less."""
    parts = load_parts(model_name, threads=1, max_running=len(names) + 2, draft_model=None)
    runner, encode = parts.runner, parts.tokenizer.encode
    n_ask = len(encode(" " + ASK))
    places = []
    for n_sentences in stretches:
        whole = {name: encode(planted(name, n_sentences)) for name in names}
        (length,) = {len(ids) for ids in whole.values()}
        ask = next(iter(whole.values()))[-n_ask:]
        readings = Readings(runner.model, runner.memory, {name: ids[:-n_ask] for name, ids in whole.items()}, ask)
        name_at = next(i for i, ids in enumerate(zip(*whole.values(), strict=True)) if len(set(ids)) > 1)
        ids = {name: one[name_at] for name, one in whole.items()}
        places.append(_place(readings, ids, n_sentences, length - 1 - name_at))
        readings.close()
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    return Recall(now, parts.shape.name, list(names), places)


def _place(readings: Readings, ids: dict[str, int], n_sentences: int, distance: int) -> Place:
    effects: list[tuple[float, float, float]] = []
    for a, b in itertools.permutations(ids, 2):
        odds = [readings.log_odds(*memories) for memories in ((b, b), (a, a), (a, b), (b, a))]
        base, *others = (float(one[ids[a]] - one[ids[b]]) for one in odds)
        both, cache_alone, state_alone = (round(one - base, 4) for one in others)
        effects.append((both, cache_alone, state_alone))
    return Place(n_sentences, distance, *(list(column) for column in zip(*effects, strict=True)))


def main(save: Annotated[Path | None, typer.Option(help="Also write the measurement to this file.")] = None) -> None:
    """Measure, show, and keep if asked to."""
    found = measure()
    table = Table("tokens between", "pairs", "both", "cache alone", "state alone", title="mean shift of ln(odds)")
    for one in found.places:
        means = (f"{statistics.fmean(values):.3f}" for values in (one.both, one.cache_alone, one.state_alone))
        table.add_row(str(one.distance), str(len(one.both)), *means)
    Console().print(table)
    written = msgspec.json.encode(found)
    if save:
        save.write_bytes(written + b"\n")
    print(written.decode())


if __name__ == "__main__":
    typer.run(main)
