"""The page "Serving": this engine live, how it did lately, and a what-if on the virtual clock."""

from __future__ import annotations

import streamlit as st

from engine.account.record import Run
from engine.account.record_file import RecordError, loads
from engine.account.service import service_report
from engine.loop.arrivals import BadLoad
from views import engine_calls
from views.class_replay import show_replay
from views.engine_words import endings, told
from views.figure_steps import MOST_ROWS, steps_figure
from views.figure_style import show
from views.live_batch import show_live
from views.quiet_lane import is_reserved, quiet_lane_controls
from views.service_panels import first_tokens, gaps, show_report
from views.theme import current_theme
from views.what_if_choice import Boxes
from views.what_if_load import playback_of
from views.what_if_service import Chosen, choose, played
from views.words import _, ngettext

LATELY_S = 600
MOST_RUNS = 100


def show_serving() -> None:
    """Draw it."""
    st.title(_("Serving"), anchor=False)
    st.markdown(_("One engine, many requests: who takes part in each step, how long people wait, and what if."))
    st.header(_("Now"), anchor="now")
    reserved = is_reserved()
    if reserved:  # why nothing moves stands first; the offer to reserve comes after what most people are here for
        quiet_lane_controls()
    show_live()
    if not reserved:
        quiet_lane_controls()
    st.header(_("The last ten minutes"), anchor="lately")
    st.fragment(_lately, key="serving-lately")()
    st.header(_("What if"), anchor="what-if")
    st.fragment(_what_if, key="serving-what-if")()
    st.header(_("A class, played again"), anchor="class")
    st.fragment(show_replay, key="serving-class")()


def recent_runs() -> list[Run]:
    """The finished runs of the last minutes that the app has read from its engine, oldest first."""
    runs: list[Run] = []
    for record in engine_calls.engine_link().store.recent(LATELY_S, MOST_RUNS):
        try:
            runs.append(loads(record))
        except RecordError:
            continue
    return runs


def _lately() -> None:
    st.button(_("Look again"), key="serving-again", icon=":material/refresh:")
    runs = recent_runs()
    report = service_report(runs)
    said = ngettext("{n} run that this app has read.", "{n} runs that this app has read.", len(runs))
    ended = endings(report.endings)
    st.caption(said.format(n=len(runs)) + (" " + _("How they ended: {how}.").format(how=ended) if ended else ""))
    if not report.finished.n:
        return
    show_report(report)
    how = _("The records of these runs, as the engine timed them. Runs of other programs are not among them.")
    theme = current_theme()
    show(first_tokens(report, theme, evidence="measured", how=how), key="serving-lately-first")
    if (flow := gaps(report, theme, evidence="measured", how=how)) is not None:
        show(flow, key="serving-lately-gaps")


def _what_if() -> None:
    """A form, then the same report for a load that never was; few requests are drawn step by step, too."""
    st.markdown(
        _("The engine's own scheduler on a virtual clock: another model, another machine, another load. Nobody waits.")
    )
    boxes = Boxes(Chosen(policy="decode_first", chunk=512), "serving-what-if")
    choose(boxes)
    boxes.answered(_what_if_answer)


def _what_if_answer(boxes: Boxes[Chosen]) -> None:
    chosen = boxes.chosen
    try:
        found = played(chosen, boxes.key)
    except BadLoad as no:
        st.error(told(str(no)))
        return
    if found is None:
        return
    simulation, report = found
    if not report.finished.n:
        st.warning(_("No request came to its end: {how}.").format(how=endings(report.endings)))
        return
    show_report(report)
    theme, how = current_theme(), chosen.how
    show(first_tokens(report, theme, evidence="simulated", how=how), key="serving-what-if-first")
    if (flow := gaps(report, theme, evidence="simulated", how=how)) is not None:
        show(flow, key="serving-what-if-gaps")
    setup = chosen.setup()
    if len(setup.arrivals) > MOST_ROWS:
        st.caption(_("With {n} requests or fewer, every step is drawn here, too.").format(n=MOST_ROWS))
        return
    scene = playback_of(_("every step"), setup.policy, simulation, setup.arrivals)
    show(
        steps_figure([scene], theme, own=(), evidence="simulated", how=how, title=_("Who took part in each step")),
        key="serving-what-if-steps",
    )
