"""A saved class as the load of the virtual clock: the same requests at the same times, on another model and machine."""

from __future__ import annotations

import streamlit as st

from engine.account.service import service_report
from engine.account.workload import BadWorkload, Workload, read_workload
from engine.loop.arrivals import Arrival
from engine.loop.policy import Policy
from lessons.filters import significant
from views.engine_words import endings, told
from views.figure_steps import MOST_ROWS, steps_figure
from views.figure_style import show
from views.open_file import MAX_MEGABYTES
from views.safe_text import plain
from views.service_panels import first_tokens, gaps, show_report
from views.theme import current_theme
from views.virtual_clock import Setup, simulated
from views.virtual_machines import what_if_shape
from views.what_if_choice import Boxes
from views.what_if_load import playback_of
from views.what_if_service import STEP_TOKENS, Chosen
from views.words import _, ngettext

_KEY = "class-replay"
LEAST_BUSY = 0.02
"""Share of the time that the machine must work for its steps to be drawn: below it they are thinner than lines."""


class Replay(Chosen, frozen=True):
    """What serves the class; its load is the file's own, so many times as fast."""

    speed: float = 1.0


def show_replay() -> None:
    """The box for the file; with one in it, what serves it and what came of it."""
    st.markdown(
        _(
            "A class saved on the page “Classroom” is a load like any other. Play it here on another model and "
            "machine, or send it to a running server: {command}"
        ).format(command="`python -m engine load --workload FILE --url ADDRESS`")
    )
    file = st.file_uploader(
        _("A class saved as a workload"), type=["json"], max_upload_size=MAX_MEGABYTES, key=f"{_KEY}-file"
    )
    if file is None:
        return
    try:
        workload = read_workload(file.getvalue())
    except BadWorkload as no:
        st.error(plain(told(str(no))))
        return
    n = len(workload.requests)
    said = ngettext("{n} request in {seconds} seconds.", "{n} requests in {seconds} seconds.", n)
    st.caption(said.format(n=n, seconds=significant(workload.seconds)))
    boxes = Boxes(Replay(), _KEY)
    _choose(boxes)
    boxes.answered(_played, workload)


def replayed(workload: Workload, shape: str, speed: float) -> tuple[Arrival, ...]:
    """The requests of a file, so many times as fast; lengths are cut to what the model's context holds."""
    context = what_if_shape(shape).context_length
    found: list[Arrival] = []
    for ask in workload.requests:
        n_new = min(ask.n_new, context // 2)
        found.append(Arrival(round(ask.at_ns / speed), min(ask.n_prompt, context - n_new), n_new))
    return tuple(found)


def _played(workload: Workload, boxes: Boxes[Replay]) -> None:
    chosen = boxes.chosen
    setup = Setup(
        chosen.shape, chosen.machine, Policy(chosen.policy, chosen.at_once, STEP_TOKENS, None),
        replayed(workload, chosen.shape, chosen.speed),
    )  # fmt: skip
    found = simulated([setup], _KEY)
    if found is None:
        return
    simulation = found[0]
    report = service_report(simulation.runs, simulation.rows, window_ns=simulation.end_ns, limits=chosen.limits)
    if not report.finished.n:
        st.warning(_("No request came to its end: {how}.").format(how=endings(report.endings)))
        return
    show_report(report)
    theme = current_theme()
    show(first_tokens(report, theme, evidence="simulated", how=chosen.how), key=f"{_KEY}-first")
    if (flow := gaps(report, theme, evidence="simulated", how=chosen.how)) is not None:
        show(flow, key=f"{_KEY}-gaps")
    busy_ns = sum(row.end_ns - row.start_ns for row in simulation.rows)
    if len(setup.arrivals) <= MOST_ROWS and busy_ns > simulation.end_ns * LEAST_BUSY:
        scene = playback_of(_("every step"), setup.policy, simulation, setup.arrivals)
        title = _("Who took part in each step")
        show(
            steps_figure([scene], theme, own=(), evidence="simulated", how=chosen.how, title=title), key=f"{_KEY}-steps"
        )


def _choose(boxes: Boxes[Replay]) -> None:
    """What serves the class, and how fast it is played."""
    with st.grid(3, min_column_width=200, gap="small"):
        boxes.model()
        boxes.machine()
        boxes.policy("policy", _("Policy"))
        boxes.whole("at_once", _("At once, at most"), 1, 256)
        boxes.decimal("speed", _("Times as fast"), 0.1, 1000.0)
