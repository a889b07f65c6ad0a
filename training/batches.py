"""Token files to training rows: which stories a pass over the mixture takes, and how they are packed."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from training.sources import SOURCES, Source

OPEN_ROWS = 64  # rows that are being filled at the same time


@dataclass(frozen=True)
class Stage:
    """A stretch of training: the length of its rows, how many make a batch, and which renamed copies come first."""

    name: str
    length: int
    rows: int
    first_copy: int = 0


BROAD = Stage("broad", length=512, rows=16)
ANNEAL = Stage("anneal", length=2048, rows=4, first_copy=7)


@dataclass(frozen=True)
class Position:
    """Where in a stage's endless stream of rows training stands."""

    stage: str = BROAD.name
    epoch: int = 0
    row: int = 0


def load_stories(path: Path) -> list[np.ndarray]:
    """The stories of one token file, each with its end-of-text token."""
    with np.load(path) as file:
        return np.split(file["tokens"], file["starts"][1:])


def pick(source: Source, share: float, folder: Path, first_copy: int, rng: np.random.Generator) -> list[np.ndarray]:
    """A source's stories for one pass: whole copies in turn, renamed ones too, and a random part for the rest."""
    copies = source.renamed + 1
    whole, rest = int(share), share - int(share)
    picked: list[np.ndarray] = []
    for turn in range(int(np.ceil(share))):
        stories = load_stories(folder / f"{source.name}.{(first_copy + turn) % copies}.npz")
        if turn >= whole:
            stories = [stories[i] for i in rng.choice(len(stories), round(rest * len(stories)), replace=False)]
        picked += stories
    return picked


def pieces(stories: list[np.ndarray], size: int) -> Iterator[np.ndarray]:
    """The stories, those longer than a row cut into pieces of a row's size."""
    for story in stories:
        for first in range(0, len(story), size):
            yield story[first : first + size]


def pack(stories: list[np.ndarray], size: int, rng: np.random.Generator) -> np.ndarray:
    """Rows of `size` tokens, each beginning where a story begins, in random order.

    A piece goes into the first open row that has room for it. When too many rows are open, the fullest is closed: what
    is left of it is filled with the beginning of some other story. So the model meets stories from an empty state, as
    it will when it is used, and no token is padding.
    """
    parts = list(pieces([stories[i] for i in rng.permutation(len(stories))], size))
    open_rows: list[list[np.ndarray]] = []
    rows: list[np.ndarray] = []

    def room(row: list[np.ndarray]) -> int:
        return size - sum(map(len, row))

    def close(row: list[np.ndarray]) -> None:
        while (left := room(row)) > 0:
            row.append(parts[rng.integers(len(parts))][:left])
        rows.append(np.concatenate(row))

    for part in parts:
        row = next((row for row in open_rows if room(row) >= len(part)), None)
        if row is None:
            row = []
            open_rows.append(row)
        row.append(part)
        if room(row) == 0 or len(open_rows) > OPEN_ROWS:
            fullest = min(open_rows, key=room)
            open_rows = [other for other in open_rows if other is not fullest]
            close(fullest)
    for row in open_rows:
        close(row)
    return np.stack(rows)[rng.permutation(len(rows))]


def epoch_rows(stage: Stage, folder: Path, epoch: int, seed: int) -> np.ndarray:
    """All rows of one pass over a stage's mixture: uint16 [rows, length + 1]; the same for the same seed."""
    rng = np.random.default_rng([seed, stage.length, epoch])
    stories: list[np.ndarray] = []
    for source in SOURCES:
        share = source.share if stage is BROAD else source.anneal
        stories += pick(source, share, folder, stage.first_copy + epoch * int(np.ceil(share)), rng)
    return pack(stories, stage.length + 1, rng)


class RowStream:
    """Batches of a stage one after another, from any position; the position after each batch is its state."""

    def __init__(self, stage: Stage, folder: Path, seed: int, position: Position | None = None) -> None:
        self.stage, self.folder, self.seed = stage, folder, seed
        self.position = position if position and position.stage == stage.name else Position(stage.name)
        self._rows = epoch_rows(stage, folder, self.position.epoch, seed)

    def next_batch(self) -> Tensor:
        """The next rows, int64 [rows, length + 1]; a pass that has too few left gives way to the next pass."""
        if self.position.row + self.stage.rows > len(self._rows):
            self.position = Position(self.stage.name, self.position.epoch + 1)
            self._rows = epoch_rows(self.stage, self.folder, self.position.epoch, self.seed)
        first = self.position.row
        self.position = replace(self.position, row=first + self.stage.rows)
        return torch.from_numpy(self._rows[first : first + self.stage.rows].astype(np.int64))
