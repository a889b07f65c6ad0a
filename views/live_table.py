"""The engine's live table, read at most twice a second for however many pages look, and one's own rows in it.

A row shows how far a request is: never its text, never an id that would open it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import streamlit as st

from engine.loop.scheduler import BatchRow
from engine.serve import wire
from engine.serve.client import EngineRefused, EngineUnavailable
from lessons.filters import milliseconds
from views import engine_calls, run_limits
from views.engine_words import told
from views.links import Link
from views.words import _

LOOK_S = 0.5
_TICKETS = "live-table.tickets"


def live_table() -> wire.BatchTable | None:
    """What is computed and what waits, at most half a second old; None while no engine answers."""
    try:
        return _table(id(engine_calls.engine_link().client))
    except (EngineUnavailable, EngineRefused):
        return None


@st.cache_data(ttl=LOOK_S, max_entries=4, show_spinner=False)
def _table(_client: int) -> wire.BatchTable:
    return engine_calls.engine_link().client.batch_table()


def look_anew() -> None:
    """What this page has just changed is to be seen at once."""
    _table.clear()


def own_tickets(rows: Sequence[BatchRow]) -> set[int]:
    """The engine's numbers of this visitor's requests in the table, on whichever page or tab they were started.

    Each is looked up once, and its number forgotten when it has left the table: another engine process counts from 1
    again. What is known of runs that no page has in view any more goes, too: a session may see thousands.
    """
    links = [value for value in st.session_state.values() if isinstance(value, Link)]
    run_ids = {one for link in links for one in (link.run, link.other) if one} | set(run_limits.own_book().live)
    before: dict[str, int | None] = st.session_state.get(_TICKETS, {})
    known = st.session_state[_TICKETS] = {run_id: before[run_id] for run_id in run_ids & set(before)}
    for run_id in run_ids - set(known):
        run = engine_calls.find_run(run_id).run
        known[run_id] = run.header.ticket if run is not None and run.end is None else None
    there = {row.ticket for row in rows}
    for run_id, ticket in known.items():
        # One that the table, half a second old, is too old to have is not taken for gone.
        if ticket is not None and ticket not in there and ticket < max(there, default=0):
            known[run_id] = None
    return {ticket for run_id in run_ids if (ticket := known[run_id]) is not None and ticket in there}


def batch_columns(rows: Sequence[BatchRow], own: Collection[int]) -> dict[str, list[object]]:
    """The live requests as columns, those of this visitor marked."""
    return {
        _("request"): [f"▶ {_('you')} #{one.ticket}" if one.ticket in own else f"#{one.ticket}" for one in rows],
        _("next step"): [one.phase or _("waits") for one in rows],
        _("prompt tokens"): [one.prompt_tokens for one in rows],
        _("new tokens"): [f"{one.new_tokens} / {one.max_new_tokens}" for one in rows],
        _("positions held"): [one.positions_held for one in rows],
        _("place in the queue"): ["" if one.place is None else str(one.place) for one in rows],
        _("expected wait"): [wait_words(one) for one in rows],
        _("waits because"): [told(one.waiting_for or "") for one in rows],
    }


def wait_words(row: BatchRow) -> str:
    """The wait to expect; blank without a basis, and for who does not wait."""
    return "" if row.expected_wait_ns is None else milliseconds(row.expected_wait_ns)


def basis_words(rows: Sequence[BatchRow]) -> str:
    """How the expected waits were made; empty where there are none."""
    n = next((row.estimated_from for row in rows if row.estimated_from), None)
    if n is None:
        return ""
    return _(
        "The expected wait is estimated from the last {n} runs: their mean time a token, times the tokens that those "
        "before may still write. It is shorter where a text ends early."
    ).format(n=n)
