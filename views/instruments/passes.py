"""When each pass of the run in view ran."""

from __future__ import annotations

from collections.abc import Mapping

from views import figure_style
from views.figure_passes import passes_figure
from views.scene import Scene
from views.theme import current_theme


def show(scene: Scene, _settings: Mapping[str, str], key: str) -> None:
    """The time line, to scale."""
    assert scene.run is not None
    figure_style.show(passes_figure(scene.run, current_theme(), recorded=scene.recorded), key=key)
