"""The page Compare: two runs on one clock, their figures side by side, and where their texts part.

?a=<run>&b=<run>     each named as on the page Recordings: an id, example.NAME or file.NAME
"""

from __future__ import annotations

import streamlit as st

from engine.account.outside_record import OutsideRun
from engine.account.record import Run
from views.compare_choice import choose
from views.compare_figures import figures_of
from views.compare_texts import Parting, asked_differently, prompts_part, texts_part
from views.evidence import Evidence, evidence_row
from views.figure_clock import clock_figure
from views.figure_style import show
from views.flipbook import flipbook
from views.lanes import lane_of
from views.outside_result import show_outside_run
from views.recordings_found import Chosen
from views.recordings_rows import row_of
from views.safe_text import plain
from views.site import compare_page, lab_page, recordings_page
from views.theme import current_theme
from views.words import _

_WEAKEST_FIRST: tuple[Evidence, ...] = ("simulated", "outside", "elsewhere", "recorded", "measured")


def show_compare() -> None:
    """Draw the page."""
    st.title(_("Compare"), anchor=False)
    st.markdown(_("Two runs on one clock: your own, the lessons' recordings, or runs from files."))
    first, second = choose()
    if first is None or second is None:
        _what_to_do()
        return
    if first.run.end is None or second.run.end is None:
        st.info(_("One of these runs still goes on. Look again when it has ended."))
        return
    _where_from(first, second)
    _asked(first, second)
    _clock(first, second)
    _figures(first, second)
    _texts(first, second)
    st.header(_("Pass by pass"), anchor="passes")
    if isinstance(first.run, Run) and isinstance(second.run, Run):
        st.caption(_("Both pictures share a clock: play, step or slow one, and the other goes along."))
    # A fragment of its own: a step that is settled on redraws nothing else.
    st.fragment(_pictures, key="compare-pictures")(first, second)


def _what_to_do() -> None:
    st.info(
        _(
            "Choose two runs. What a comparison can tell depends on what differs: change one thing at a time, as in "
            "the same prompt with and without a cache."
        )
    )
    with st.container(horizontal=True):
        example = {"a": "example.story-cached", "b": "example.story-recomputed"}
        label = _("See an example: with and without a cache")
        st.page_link(compare_page(), label=label, icon=":material/compare_arrows:", query_params=example)
        st.page_link(lab_page(), label=_("Run something in the Lab"), icon=":material/tune:")
        st.page_link(recordings_page(), label=_("Open a file"), icon=":material/folder_open:")


def _where_from(first: Chosen, second: Chosen) -> None:
    """Under each box, what its run is: a box cuts off what is too long for it."""
    for side, chosen, column in zip("ab", (first, second), st.columns(2), strict=True):
        with column:
            st.caption(plain(row_of(chosen).facts))
            evidence_row(chosen.evidence, chosen.source + ".", key=f"compare-{side}", found=chosen.condition)


def _pictures(first: Chosen, second: Chosen) -> None:
    for side, name, chosen, column in zip("ab", _names(), (first, second), st.columns(2, gap="medium"), strict=True):
        with column:
            st.subheader(name.capitalize(), anchor=False)
            if isinstance(chosen.run, OutsideRun):
                show_outside_run(chosen.run, key=f"compare-{side}")
            else:
                flipbook(
                    key=f"compare-{side}-picture",
                    run_id=chosen.ref if chosen.origin == "kept" else None,
                    recording=chosen.run,
                    together="compare",
                )


def _asked(first: Chosen, second: Chosen) -> None:
    st.header(_("What was different"), anchor="different")
    differences = asked_differently(first.run, second.run)
    if not differences:
        st.markdown(_("Nothing that the records tell, but perhaps the prompt. What differs is chance, or company."))
        return
    one, other = _names()
    names, ones, others = zip(*differences, strict=True)
    st.table({_("setting"): names, one: ones, other: others}, border="horizontal", hide_index=True)


def _clock(first: Chosen, second: Chosen) -> None:
    lanes = {name: lane_of(one.run) for name, one in zip(_names(), (first, second), strict=True)}
    if not all(lane.spans for lane in lanes.values()):
        st.info(_("One of these runs ended before anything came, so there is nothing to put on a clock."))
        return
    weakest = next(kind for kind in _WEAKEST_FIRST if kind in (first.evidence, second.evidence))
    sources = "\n\n".join(f"- {name}: {one.source}" for name, one in zip(lanes, (first, second), strict=True))
    how = _(
        "Each lane begins when its request came to the engine, or was sent to it; the runs need not have run at the "
        "same time. Of a run from outside, the first block is queue, prefill and network together, and each further "
        "block a gap between two chunks."
    )
    show(clock_figure(lanes, current_theme(), evidence=weakest, how=f"{how}\n\n{sources}"), key="compare-clock")


def _figures(first: Chosen, second: Chosen) -> None:
    st.header(_("The figures"), anchor="figures")
    rows = figures_of(first.run, second.run)
    cells = [row.cells for row in rows]
    one, other = _names()
    columns = (one, other, _("second − first"), _("second ÷ first"))
    table = {_("figure"): [row.name for row in rows]}
    table |= {name: [row[place] for row in cells] for place, name in enumerate(columns)}
    # A table of the page: its words wrap, where the cells of a data frame would be cut on a phone.
    st.table(table, border="horizontal", hide_index=True)
    st.caption(_("Blank: not known. Times are as each run's own evidence says; differences and ratios are computed."))


def _texts(first: Chosen, second: Chosen) -> None:
    _parting(_("The prompts"), prompts_part(first.run, second.run))
    written = texts_part(first.run, second.run)
    _parting(_("What they wrote"), written)
    if written.first_odds is not None and written.second_odds is not None:
        odds = {"first": f"{written.first_odds:.1%}", "second": f"{written.second_odds:.1%}"}
        st.caption(
            _(
                "Where they part, the model of the first run gave its token {first} of the odds, and the model of the "
                "second gave its own {second}."
            ).format(**odds)
        )


def _parting(title: str, parting: Parting) -> None:
    st.header(title, anchor=False)
    st.markdown(parting.sentence)
    if parting.same:
        st.code(parting.same, language=None, wrap_lines=True)
    if parting.equal:
        return
    rests = (parting.first_rest, parting.second_rest)
    for name, rest, column in zip(_names(), rests, st.columns(2, gap="medium"), strict=True):
        with column:
            st.markdown(f"**{_('{name}, from there').format(name=name.capitalize())}**")
            if rest:
                st.code(rest, language=None, wrap_lines=True)
            else:
                st.caption(_("nothing more"))


def _names() -> tuple[str, str]:
    return _("first run"), _("second run")
