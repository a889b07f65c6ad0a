"""The licence of every package that the app and the engine bring along, as the packages themselves state it.

python -m tests.licences > docs/licences.md
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]

PERMISSIVE = re.compile(
    r"""(3-Clause\ )?BSD(-[23]-Clause|\ License)? | 0BSD | MIT(-CMU|\ License)? | ISC(\ License.*)? | PSF-2\.0 | Zlib
    | Apache(-2\.0|\ 2\.0\ License|\ Software\ License|\ License,?\ (Version\ )?2\.0)(\ WITH\ LLVM-exception)?
    | BSL-1\.0 | CC0-1\.0 | CNRI-Python | Unlicense | Python\ Software\ Foundation\ License""",
    re.VERBOSE,
)

ACCEPTED = {
    "certifi": "MPL-2.0, a list of certificates that is used as it is",
    "tqdm": "MPL-2.0 in part, used as it is",
    "nvidia-*": "NVIDIA's own terms; only where torch is the CUDA build",
    "cuda-*": "NVIDIA's own terms; only where torch is the CUDA build",
}
"""What is not permissive and why it is there all the same; whoever adds to it decides for everybody who ships this."""


def brought_along(requirements: Path = ROOT / "requirements.txt") -> dict[str, set[str]]:
    """Every installed package that the requirements need, directly or not -> which of them need it."""
    lines = [line.partition("#")[0].strip() for line in requirements.read_text(encoding="utf-8").splitlines()]
    waiting = [("this project", Requirement(line)) for line in lines if line and not line.startswith("-")]
    found: dict[str, set[str]] = {}
    while waiting:
        parent, wanted = waiting.pop()
        name = canonicalize_name(wanted.name)
        is_new = name not in found
        found.setdefault(name, set()).add(parent)
        if is_new:
            waiting += [(name, one) for one in _needs(name, wanted.extras)]
    return found


def _needs(name: str, extras: set[str]) -> list[Requirement]:
    needs = [Requirement(line) for line in metadata.requires(name) or []]
    return [one for one in needs if one.marker is None or any(one.marker.evaluate({"extra": e}) for e in extras | {""})]


def licences(names: list[str]) -> dict[str, str]:
    """Package -> licence, as its own metadata says; "UNKNOWN" where they do not."""
    command = [sys.executable, "-m", "piplicenses", "--from=mixed", "--format=json", "--with-system", "--packages"]
    told = subprocess.run([*command, *names], capture_output=True, text=True, check=True).stdout
    return {canonicalize_name(one["Name"]): one["License"] for one in json.loads(told)}


def is_permissive(licence: str) -> bool:
    """Whether every part of the licence is; of alternatives, one."""
    parts = re.split(r"\s+AND\s+|;\s*", licence.strip("() "))
    return all(any(PERMISSIVE.fullmatch(one.strip("() ")) for one in part.split(" OR ")) for part in parts)


def accepted(name: str) -> str | None:
    """Why a package that is not permissive is there; None if nobody has decided that."""
    family = name.partition("-")[0] + "-*"
    return ACCEPTED.get(name) or ACCEPTED.get(family)


def table() -> str:
    """The document."""
    needed = brought_along()
    of = licences(sorted(needed))
    rows = [f"| {name} | {of[name]} | {', '.join(sorted(needed[name]))} |" for name in sorted(needed)]
    notes = [f"- {name}: {why}." for name, why in ACCEPTED.items()]
    return "\n".join([_HEAD, *rows, "", "Not permissive, and accepted:", "", *notes, ""])


_HEAD = """# Licences of what is brought along

Every package that `requirements.txt` needs, directly or not, with the licence that its own metadata states, read by
pip-licenses. A test fails when one of them is unknown, or neither permissive nor accepted below. Versions and their
licences as installed: the page Method. Why each direct one is there: README.md.

Two Speeds itself: Apache-2.0. The bundled model and the texts that it was trained on: models/story/README.md.

| package | licence | needed by |
|---|---|---|"""


if __name__ == "__main__":
    print(table(), end="")
