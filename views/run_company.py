"""Near a run that goes on: who shares the engine with it now, and which row is one's own. The class is the workload."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from engine.loop.scheduler import BatchRow
from views.live_table import basis_words, batch_columns, live_table, own_tickets
from views.scene import Scene
from views.words import ngettext

EVERY_S = 1.0
MOST_ROWS = 12


def show_company(scene: Scene) -> None:
    """The live table, while the run in view goes on and others are there; it goes when the run has ended."""
    if scene.running and scene.run is not None:
        st.fragment(_draw, run_every=EVERY_S, key=scene.page.key("company"))()


def _draw() -> None:
    table = live_table()
    if table is None or len(table.rows) < 2:
        return
    own = own_tickets(table.rows)
    st.markdown(_say(table.rows))
    shown = few(table.rows, own)
    st.dataframe(pd.DataFrame(batch_columns(shown, own)), hide_index=True, width="stretch")
    left_out = len(table.rows) - len(shown)
    more = ngettext("{n} more is not shown.", "{n} more are not shown.", left_out).format(n=left_out)
    st.caption(" ".join(filter(None, [basis_words(shown), more if left_out else ""])))


def _say(rows: list[BatchRow]) -> str:
    waiting = sum(row.phase is None for row in rows)
    running = len(rows) - waiting
    said = ngettext(
        "**The engine now**: {n} request in the batch", "**The engine now**: {n} requests in the batch", running
    ).format(n=running)
    return said + ", " + ngettext("{n} waits.", "{n} wait.", waiting).format(n=waiting)


def few(rows: list[BatchRow], own: set[int]) -> list[BatchRow]:
    """The first rows, and one's own wherever they are, in the table's order."""
    first = {row.ticket for row in rows[:MOST_ROWS]}
    return [row for row in rows if row.ticket in first or row.ticket in own]
