"""One line of the preflight: what was looked at, what was found, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

State = Literal["fine", "works without", "missing"]
"""Works; the app runs all the same, but slower or with less; the app does not run."""


@dataclass(frozen=True)
class Finding:
    """`advice` is empty where there is nothing to do."""

    what: str
    state: State
    found: str
    advice: str = ""


def fine(what: str, found: str, advice: str = "") -> Finding:
    """It works."""
    return Finding(what, "fine", found, advice)


def without(what: str, found: str, advice: str) -> Finding:
    """The app works without it, or with less of it."""
    return Finding(what, "works without", found, advice)


def missing(what: str, found: str, advice: str) -> Finding:
    """The app does not work like this."""
    return Finding(what, "missing", found, advice)
