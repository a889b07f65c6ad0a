"""Several tokens a read: what was guessed, what held, what a check gives by the formula, and whether it paid."""

from __future__ import annotations

from collections.abc import Mapping

from engine.account.record import Run, Serving
from lessons.expressions import Value
from lessons.instruments import INSTRUMENTS
from views.drafting import Drafting
from views.figure_drafts import formula_figure, guesses_figure
from views.figure_race import race_figure
from views.figure_style import show as show_figure
from views.instruments.frame import publish, show_drawn
from views.scene import Scene
from views.second_run import other_of
from views.theme import current_theme
from views.two_runs import busy_ns, compare_odds, ratio
from views.words import _


def show(scene: Scene, settings: Mapping[str, str], key: str) -> None:
    """The run in view or the second one has drafts, whichever; the other is what it is measured against."""
    assert scene.run is not None
    guesses = scene.run.header.serving.drafts != "none"
    serving = Serving() if guesses else Serving(drafts="prompt_lookup")
    label = _("Run it again without guesses") if guesses else _("Run it again with guesses from the text")
    other = other_of(scene, serving, label, key)
    if other is None:
        publish(scene, "drafts", dict.fromkeys(INSTRUMENTS["drafts"].publishes))
        return
    drafted, plain = (scene.run, other) if guesses else (other, scene.run)
    theme = current_theme()
    publish(scene, "drafts", results_of(drafted, plain))
    show_drawn(guesses_figure(drafted, theme, recorded=scene.recorded), "drafts", scene, settings, f"{key}-guesses")
    show_figure(formula_figure(drafted, theme), key=f"{key}-formula")
    show_figure(race_figure(drafted, plain, theme, recorded=scene.recorded), key=f"{key}-race")


def results_of(drafted: Run, plain: Run) -> dict[str, Value]:
    """What the two runs tell, under the names that lessons.instruments lists."""
    told, compared = Drafting.of(drafted), compare_odds(drafted, plain)
    n_new = len(drafted.emissions)
    return {
        "drafted": told.drafted,
        "accepted": told.accepted,
        "judged": told.judged,
        "checks": len(told.checks),
        "plain": len(told.plain),
        "n_drafts": drafted.header.serving.n_drafts,
        "acceptance": told.acceptance,
        "tokens_per_check": told.tokens_per_check,
        "expected_per_check": told.expected_per_check,
        "tokens_per_decode": told.tokens_per_decode,
        "check_cost": told.check_cost,
        "time": busy_ns(drafted),
        "other_time": busy_ns(plain),
        "speedup": ratio(busy_ns(plain), busy_ns(drafted)),
        "same_tokens": n_new if compared.parted_at is None else compared.parted_at,
    }
