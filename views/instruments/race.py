"""The same prompt twice on one clock: with what was kept, and with everything computed again at each step."""

from __future__ import annotations

from collections.abc import Mapping

from engine.account.metrics import percentile
from engine.account.record import Run, Serving
from lessons.expressions import Value
from lessons.instruments import INSTRUMENTS
from views.figure_race import gap_figure, race_figure
from views.figure_style import show as show_figure
from views.instruments.frame import publish, show_drawn
from views.scene import Scene
from views.second_run import other_of
from views.theme import current_theme
from views.two_runs import TOLERANCE, busy_ns, compare_odds, ratio, step_ns, tokens_computed
from views.words import _


def show(scene: Scene, settings: Mapping[str, str], key: str) -> None:
    """The gap between the odds first asks whether both did the same work; then who was done when."""
    assert scene.run is not None
    kept = scene.run.header.serving.cache == "kept"
    serving = Serving(cache="recomputed") if kept else Serving()
    label = _("Run it again and recompute everything") if kept else _("Run it again with a cache")
    other = other_of(scene, serving, label, key)
    if other is None:
        publish(scene, "race", dict.fromkeys(INSTRUMENTS["race"].publishes))
        return
    theme, compared = current_theme(), compare_odds(scene.run, other)
    publish(scene, "race", results_of(scene.run, other))
    show_drawn(race_figure(scene.run, other, theme, recorded=scene.recorded), "race", scene, settings, key)
    if compared.gaps:
        show_figure(gap_figure(compared, theme), key=f"{key}-gap")


def results_of(run: Run, other: Run) -> dict[str, Value]:
    """What the comparison tells, under the names that lessons.instruments lists."""
    compared = compare_odds(run, other)
    durations = [one.end_ns - one.start_ns for one in other.passes]
    quarter = max(1, len(durations) // 4)
    return {
        "positions": tokens_computed(run),
        "other_positions": tokens_computed(other),
        "positions_ratio": ratio(tokens_computed(other), tokens_computed(run)),
        "time": busy_ns(run),
        "other_time": busy_ns(other),
        "time_ratio": ratio(busy_ns(other), busy_ns(run)),
        "step": step_ns(run),
        "other_first_steps": percentile(durations[:quarter], 50),
        "other_last_steps": percentile(durations[-quarter:], 50),
        "gap": compared.largest,
        "tolerance": TOLERANCE,
        "same_tokens": len(compared.gaps) if compared.parted_at is None else compared.parted_at,
    }
