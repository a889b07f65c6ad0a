"""One run on the page Recordings: its picture and figures, and what can be done with it."""

from __future__ import annotations

import re
from dataclasses import replace

import streamlit as st

from engine.account import any_record
from engine.account.outside_record import OutsideRun
from engine.account.record import Run
from views.conditions import condition
from views.database import KEEP_DAYS
from views.evidence import evidence_row
from views.figure_passes import passes_figure
from views.figure_style import show
from views.flipbook import flipbook
from views.links import address
from views.metrics import readings, show_readings
from views.open_file import close_file
from views.outside_result import show_outside_run
from views.recordings_found import Chosen
from views.recordings_own import delete_run, own_ids
from views.recordings_rows import begins, row_of
from views.safe_text import plain
from views.site import compare_page, lab_page
from views.theme import current_theme
from views.words import _

KEY = "recording"


def show_run(chosen: Chosen) -> None:
    """The picture as it was, the figures, and the buttons."""
    st.header(plain(begins(chosen.run)), anchor=False)
    st.caption(plain(row_of(chosen).facts))
    evidence_row(chosen.evidence, chosen.source + ".", key=KEY, found=chosen.condition)
    if isinstance(chosen.run, OutsideRun):
        show_outside_run(chosen.run, key=KEY)
    else:
        _picture(chosen, chosen.run)
    if chosen.run.end is not None:
        _controls(chosen)


def _flipbook(chosen: Chosen, run: Run) -> None:
    """When a run ends while it is watched, the rest of the page is drawn once more: its figures are there now."""
    kept = chosen.origin == "kept"
    shown = flipbook(
        key=f"{KEY}-picture",
        run_id=chosen.ref if kept else None,
        recording=run if not kept or run.end is not None else None,
    )
    if run.end is None and shown.ended == chosen.ref and st.session_state.get(f"{KEY}-ended") != chosen.ref:
        st.session_state[f"{KEY}-ended"] = chosen.ref
        st.rerun()


def _picture(chosen: Chosen, run: Run) -> None:
    st.fragment(_flipbook, key=f"{KEY}-flipbook")(chosen, run)
    if run.end is None:
        st.caption(_("Timings and figures appear here when the run has ended."))
        return
    recorded = chosen.origin != "kept"
    show_readings(readings(run), chosen.evidence, chosen.source, key=KEY, found=condition(run))
    if run.passes:
        drawn = passes_figure(run, current_theme(), recorded=recorded)
        show(replace(drawn, evidence=chosen.evidence), key=f"{KEY}-passes")


def _controls(chosen: Chosen) -> None:
    with st.container(horizontal=True, vertical_alignment="center", key=f"{KEY}-controls"):
        run = chosen.run
        st.download_button(
            _("Save as a file"), lambda: any_record.dumps(run), _file_name(run.header.run_id),
            "application/json", icon=":material/download:", on_click="ignore", key=f"{KEY}-save",
        )  # fmt: skip
        if chosen.origin != "file":
            _share(chosen)
        st.page_link(
            compare_page(), label=_("Compare it"), icon=":material/compare_arrows:", query_params={"a": chosen.ref}
        )
        if chosen.origin == "kept" and isinstance(run, Run):
            st.page_link(
                lab_page(), label=_("Open it in the Lab"), icon=":material/tune:", query_params={"run": chosen.ref}
            )
        _ways_out(chosen)


def _file_name(run_id: str) -> str:
    """Of an opened file the id is whatever somebody wrote there."""
    return f"two-speeds-run-{re.sub('[^A-Za-z0-9]', '', run_id)[:8]}.json"


def _share(chosen: Chosen) -> None:
    with st.popover(_("Share a link"), icon=":material/link:", key=f"{KEY}-share"):
        if chosen.origin == "kept":
            st.markdown(
                _(
                    "Whoever has this link can see this run, with its prompt, for as long as the server keeps it: "
                    "{days} days. For longer, or for another server, pass on the file."
                ).format(days=KEEP_DAYS)
            )
        else:
            st.markdown(_("This link opens the recording on this server."))
        st.code(address(st.context.url, {"run": chosen.ref}), language=None, wrap_lines=True)


def _ways_out(chosen: Chosen) -> None:
    if chosen.origin == "file":
        st.button(
            _("Forget this file"), icon=":material/close:", key=f"{KEY}-forget",
            on_click=_forget, args=(chosen.ref.removeprefix("file."),),
        )  # fmt: skip
    elif chosen.origin == "kept" and chosen.ref in own_ids():
        with st.popover(_("Delete"), icon=":material/delete:", key=f"{KEY}-delete"):
            st.markdown(_("The run goes for good from this server, and links to it stop working."))
            if st.button(_("Delete this run"), type="primary", key=f"{KEY}-delete-it"):
                _delete(chosen.ref)


def _forget(name: str) -> None:
    close_file(name)
    del st.query_params["run"]


def _delete(run_id: str) -> None:
    if problem := delete_run(run_id):
        st.error(plain(problem))
        return
    st.session_state["recordings-done"] = _("The run has been deleted.")
    del st.query_params["run"]
    st.rerun()
