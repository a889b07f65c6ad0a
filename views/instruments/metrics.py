"""The cards of queue, first token, gaps and speeds."""

from __future__ import annotations

from collections.abc import Mapping

from views.metrics import show_metrics
from views.scene import Scene
from views.transfers import show_transfers


def show(scene: Scene, _settings: Mapping[str, str], _key: str) -> None:
    """Each card says by itself how it was made."""
    if scene.run is not None:
        show_metrics(scene.run, recorded=scene.recorded, key=scene.page.name)
        show_transfers(scene.run, recorded=scene.recorded, key=scene.page.name)
