"""What machine this is, in the words that a person would use for it."""

from __future__ import annotations

from functools import cache
from importlib import metadata
from pathlib import Path

import cpuinfo

from engine.account.record import Device


def describe_device(*, threads: int, kernels: dict[str, str], kind: str = "cpu", name: str | None = None) -> Device:
    """The `Device` entry of a record: what computes (this processor, unless named), threads, torch and which kernels.

    The torch version is read from the installed package, so that this module stays free of torch.
    """
    return Device(
        kind=kind, name=name or cpu_name(), threads=threads, torch_version=torch_version(), kernels=dict(kernels)
    )


@cache
def torch_version() -> str:
    """Version of the installed torch package."""
    return metadata.version("torch")


@cache
def cpu_name() -> str:
    """The processor's own name, e.g. "AMD EPYC 9B45"; "unknown processor" if the system does not tell."""
    return _name_in_proc() or cpuinfo.get_cpu_info().get("brand_raw") or "unknown processor"


def _name_in_proc(path: Path = Path("/proc/cpuinfo")) -> str | None:
    """Linux tells at once; py-cpuinfo, which knows the other systems, needs more than a second."""
    if not path.exists():
        return None
    for line in path.read_text(errors="replace").splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "model name" and value.strip():
            return value.strip()
    return None
