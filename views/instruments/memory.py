"""What the run in view keeps, pass by pass."""

from __future__ import annotations

from collections.abc import Mapping

from views import figure_style
from views.figure_memory import memory_figure
from views.scene import Scene
from views.theme import current_theme


def show(scene: Scene, _settings: Mapping[str, str], key: str) -> None:
    """KV cache and state on one byte axis."""
    assert scene.run is not None
    figure_style.show(memory_figure(scene.run, current_theme()), key=key)
