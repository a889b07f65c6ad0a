"""The timings and figures of a run, for lessons and the Lab alike."""

from __future__ import annotations

from views.figure_memory import memory_figure
from views.figure_passes import passes_figure
from views.figure_style import show
from views.metrics import show_metrics
from views.scene import Scene
from views.theme import current_theme


def show_timings(scene: Scene) -> None:
    """The cards of queue, first token, gaps and speeds."""
    if scene.run is not None:
        show_metrics(scene.run, recorded=scene.recorded, key=scene.page.name)


def show_figure(scene: Scene, name: str) -> None:
    """One of the figures of a run that has passes: "passes" or "memory"."""
    if scene.run is None or not scene.run.passes:
        return
    theme = current_theme()
    drawn = (
        passes_figure(scene.run, theme, recorded=scene.recorded)
        if name == "passes"
        else memory_figure(scene.run, theme)
    )
    show(drawn, key=f"{scene.page.name}-{name}")
