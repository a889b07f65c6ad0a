"""The models that are here, and those that could be fetched, as tables for the shell."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from rich.table import Table

from engine.fetch.catalogue import CATALOGUE
from engine.loop.model_folder import BUNDLED, fetched
from engine.model.config import CheckpointError, ModelConfig


class ModelRow(NamedTuple):
    """One model that is here."""

    name: str
    origin: str
    """"bundled" or "fetched"."""
    size_bytes: int
    """Of all its files."""
    kind: str
    """Architecture and layers, or why it cannot be used."""


def models_here() -> list[ModelRow]:
    """Bundled models, then fetched ones, by name. A fetched one that has a bundled one's name is not found by it."""
    rows: dict[str, ModelRow] = {}
    for origin, place in (("bundled", BUNDLED), ("fetched", fetched())):
        for config in sorted(place.glob("*/config.json")):
            folder = config.parent
            rows.setdefault(folder.name, ModelRow(folder.name, origin, _size(folder), _kind(folder)))
    return list(rows.values())


def models_table() -> Table:
    """What is here."""
    table = Table(title="Models here")
    for column in ("name", "from", "size", "kind"):
        table.add_column(column, justify="right" if column == "size" else "left")
    for row in models_here():
        table.add_row(row.name, row.origin, f"{row.size_bytes / 1e6:,.1f} MB", row.kind)
    return table


def fetchable_table() -> Table:
    """What is not here yet and can be fetched by name."""
    here = {row.name for row in models_here()}
    table = Table(title="To be had with: python -m engine fetch NAME")
    table.add_column("name")
    table.add_column("source")
    for name, source in CATALOGUE.items():
        if name not in here:
            table.add_row(name, source.words)
    return table


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _kind(folder: Path) -> str:
    try:
        config = ModelConfig.load(folder)
    except CheckpointError as error:
        return f"cannot be used: {error}"
    full, linear = len(config.full_layers), len(config.linear_layers)
    layers = f"{full} full attention" + (f" + {linear} Gated DeltaNet" if linear else "")
    stored = "GGUF" if any(folder.glob("*.gguf")) else "safetensors"
    return f"{config.architecture}, layers: {layers}; {stored}"
