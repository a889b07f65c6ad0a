"""The visitor's own runs as evidence: reading against writing, and how often the model looked back."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

import streamlit as st

from lessons.expressions import Value
from views.figure_reading_speaking import reading_figure
from views.instruments.frame import publish, show_drawn
from views.reading_speaking import ReadAndWrote, bundled_runs, own_runs
from views.scene import Scene
from views.theme import current_theme
from views.words import _


def show(scene: Scene, settings: Mapping[str, str], key: str) -> None:
    """Own runs where there are any, else the bundled ones, and said so."""
    own = own_runs()
    runs = own or bundled_runs()
    if not runs:
        st.info(_("There is no finished run to look at yet. Run a prompt first."))
        return
    publish(scene, "own-runs", results_of(runs))
    show_drawn(reading_figure(runs, current_theme(), own=bool(own)), "own-runs", scene, settings, key)


def results_of(runs: Sequence[ReadAndWrote]) -> dict[str, Value]:
    """Sums and medians over the runs, under the names that lessons.instruments lists."""
    read = statistics.median(one.read_ns for one in runs)
    write = statistics.median(one.write_ns for one in runs)
    return {
        "n": len(runs),
        "prompt_tokens": sum(one.prompt_tokens for one in runs),
        "prefill_passes": sum(one.prefill_passes for one in runs),
        "new_tokens": sum(one.new_tokens for one in runs),
        "decode_passes": sum(one.decode_passes for one in runs),
        "read": read,
        "write": write,
        "write_over_read": write / read,
        "looks_back": sum(one.looks_back for one in runs),
    }
