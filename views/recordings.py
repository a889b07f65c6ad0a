"""The page Recordings: the run that the address names, then one's own runs, files, and the lessons' recordings."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from views.database import KEEP_DAYS
from views.open_file import MAX_MEGABYTES, keep_open, read_file
from views.recordings_found import Chosen, example_refs, file_refs, find
from views.recordings_own import own_rows
from views.recordings_rows import Row, row_of
from views.recordings_run import show_run
from views.safe_text import plain
from views.site import lab_page, recordings_page
from views.visitor import browser
from views.words import _

OPEN = "run"
"""The parameter of the address that names the run in view."""


def show_recordings() -> None:
    """Draw the page."""
    st.title(_("Recordings"), anchor=False)
    if done := st.session_state.pop("recordings-done", None):
        st.success(done)
    _run_in_view()
    _own_runs()
    _files()
    _examples()


def _run_in_view() -> None:
    ref = st.query_params.get(OPEN)
    if ref is None:
        st.markdown(_("Open a run to see its passes again, save it as a file, share it, or compare it with another."))
        return
    found = find(ref)
    if isinstance(found, Chosen):
        show_run(found)
    else:
        st.warning(plain(found))
    st.page_link(recordings_page(), label=_("Close it"), icon=":material/close:")


def _own_runs() -> None:
    st.header(_("Your runs"), anchor="your-runs")
    if browser() is None:
        st.info(
            _(
                "Your browser keeps no cookie from here, so your runs are not listed. "
                "A run's own link works all the same."
            )
        )
        return
    rows = own_rows()
    if rows:
        _list(rows, "own")
        st.caption(
            _("Kept on this server for {days} days, for whoever knows a run's link. Only you see this list.").format(
                days=KEEP_DAYS
            )
        )
        return
    st.info(_("There is no run of yours yet. Run a prompt in a lesson or in the Lab: it will stand here afterwards."))
    st.page_link(lab_page(), label=_("To the Lab"), icon=":material/tune:")


def _files() -> None:
    st.header(_("A run from a file"), anchor="file")
    uploaded = st.file_uploader(
        _("Open a run that was saved as a file"), type=["json"], max_upload_size=MAX_MEGABYTES, key="open-file"
    )
    if uploaded is not None:
        _open(uploaded.file_id, uploaded.getvalue())
    _list(_rows(file_refs()), "file")
    st.caption(_("An opened file stays in this session: it is not kept on the server, and no link leads to it."))


def _open(file_id: str, raw: bytes) -> None:
    """Read an uploaded file once; what is wrong with it stays under the box for as long as it is there."""
    done: tuple[str, str] | None = st.session_state.get("open-file-done")
    if done is None or done[0] != file_id:
        run = read_file(raw)
        problem = run if isinstance(run, str) else ""
        st.session_state["open-file-done"] = (file_id, problem)
        if not isinstance(run, str):
            st.query_params[OPEN] = f"file.{keep_open(raw, run)}"
            st.rerun()
        done = (file_id, problem)
    if done[1]:
        st.error(_("This file cannot be shown. {why}").format(why=plain(done[1])))


def _examples() -> None:
    st.header(_("From the lessons"), anchor="examples")
    _list(_rows(example_refs()), "example")


def _rows(refs: Sequence[str]) -> list[Row]:
    return [row_of(found) for ref in refs if isinstance(found := find(ref), Chosen)]


def _list(rows: Sequence[Row], key: str) -> None:
    """One link a run, with its figures under it."""
    with st.container(gap="xsmall", key=f"recordings-{key}"):
        for row in rows:
            with st.container(border=True, gap="xxsmall", key=f"recording-{row.ref}"):
                st.page_link(recordings_page(), label=plain(row.begins), query_params={OPEN: row.ref})
                st.caption(plain(row.facts))
