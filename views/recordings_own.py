"""A visitor's own runs as rows, each read once a session: a run that has ended does not change."""

from __future__ import annotations

import sqlite3
from functools import cache

import streamlit as st

from views.engine_link import engine_link
from views.outside_runs import outside_runs
from views.recordings_found import Chosen, find
from views.recordings_rows import Row, row_of
from views.visitor import attempt_store, browser
from views.words import _, language

MOST = 40
"""The latest so many are listed."""

_SEEN = "own-run-rows"


def own_ids() -> list[str]:
    """The ids of this visitor's latest runs, the newest first."""
    name = browser()
    return attempt_store().runs(name)[: -MOST - 1 : -1] if name else []


def own_rows() -> list[Row]:
    """The runs of these that are still kept."""
    seen: dict[tuple[str, str], Row | None] = st.session_state.setdefault(_SEEN, {})
    link = engine_link()
    # An engine that is out of reach would be waited for once a run, so it is asked for its health once.
    engine_answers = cache(lambda: link.health().status == "ready")
    rows = []
    for run_id in own_ids():
        key = (run_id, language())
        if key in seen:
            rows.append(seen[key])
        elif link.store.load(run_id) is not None or engine_answers():
            found = find(run_id)
            row = row_of(found) if isinstance(found, Chosen) else None
            rows.append(row)
            if not (isinstance(found, Chosen) and found.run.end is None):
                seen[key] = row
    return [row for row in rows if row is not None]


def delete_run(run_id: str) -> str | None:
    """Delete one of the visitor's own runs for good; why that could not be done, or None."""
    name = browser()
    if name is None or run_id not in attempt_store().runs(name):
        return _("This run is not yours to delete.")
    try:
        if outside := outside_runs():
            outside.stop([run_id])
        engine_link().delete([run_id])
    except (sqlite3.Error, OSError) as error:
        return _("It could not be deleted: {why}").format(why=error)
    attempt_store().forget_run(name, run_id)
    st.session_state.pop(_SEEN, None)
    return None
