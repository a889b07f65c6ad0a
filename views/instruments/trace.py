"""Inside one DeltaNet head, from an instrumented second pass."""

from __future__ import annotations

from collections.abc import Mapping

from views.inside import show_trace
from views.scene import Scene


def show(scene: Scene, _settings: Mapping[str, str], _key: str) -> None:
    """The button that asks for the second pass, then its figures."""
    show_trace(scene)
