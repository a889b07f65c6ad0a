"""What the engine computes now: its live table and last steps, looked at again every second while something runs."""

from __future__ import annotations

from collections.abc import Collection

import pandas as pd
import streamlit as st

from engine.account.record import Sampling
from engine.account.step_record import StepRow
from engine.loop.policy import Policy
from engine.loop.scheduler import BatchRow
from engine.serve.client import EngineRefused, EngineUnavailable
from lessons.playback import Playback
from views import engine_calls
from views.figure_steps import steps_figure
from views.figure_style import show
from views.live_table import basis_words, batch_columns, live_table, own_tickets
from views.safe_text import plain
from views.theme import current_theme
from views.what_if_load import policy_in_words
from views.words import N_, _

EVERY_S = 1.0
IDLE_EVERY_S = 4.0
N_STEPS = 30
"""Steps that the picture shows."""
SPAN_NS = 5_000_000_000
"""And no older than this before the newest, so that a pause does not squeeze them."""
COPIES, NEW_TOKENS = 8, 300
PROMPT = "Once upon a time, there was a"
_SENT, _BUSY, _REFUSED = "serving.sent", "serving.busy", "serving.refused"
_NEXT = "serving.next"


def show_live() -> None:
    """The button that gives the engine work, and the part of the page that looks again by itself."""
    with st.container(horizontal=True, vertical_alignment="center", key="serving-work"):
        if st.button(_("Send {n} requests").format(n=COPIES), type="primary", key="serving-send"):
            _send()
            st.rerun()
        if st.session_state.get(_BUSY) and st.button(_("Stop mine"), icon=":material/stop:", key="serving-stop"):
            for run_id in st.session_state.get(_SENT, []):
                engine_calls.stop_run(run_id)
        st.caption(_("{n} stories of {tokens} tokens each, with seeds of their own, on this engine.").format(
            n=COPIES, tokens=NEW_TOKENS))  # fmt: skip
    if problem := st.session_state.get(_REFUSED):
        st.error(plain(problem))
    every = EVERY_S if st.session_state.get(_BUSY) else IDLE_EVERY_S
    st.fragment(_look, run_every=every, key="serving-live")()


def _send() -> None:
    sent: list[str] = []
    st.session_state[_REFUSED] = None
    for seed in range(COPIES):
        sampling = Sampling(temperature=0.7, seed=seed, max_new_tokens=NEW_TOKENS, ignore_eos=True)
        started = engine_calls.start_run(PROMPT, sampling, at_once=COPIES)
        if started.run_id is None:
            st.session_state[_REFUSED] = started.problem
            break
        sent.append(started.run_id)
    st.session_state[_SENT] = [*st.session_state.get(_SENT, []), *sent][-4 * COPIES :]
    st.session_state[_BUSY] = bool(sent)


def _look() -> None:
    """One look. When work begins or ends, the whole page is drawn again, with another interval."""
    try:
        steps, policy = _steps()
        table = live_table()
    except (EngineUnavailable, EngineRefused):
        table = None
    if table is None:
        st.info(plain(engine_calls.engine_notice() or _("The engine does not answer now.")))
        return
    rows = table.rows
    busy = bool(rows)
    if busy != bool(st.session_state.get(_BUSY)):
        st.session_state[_BUSY] = busy
        if not busy:
            _read_sent()
        st.rerun()
    own = own_tickets(rows)
    _table(rows, own)
    if steps:
        drawn = steps_figure(
            [last_steps(steps, policy)], current_theme(), own=own & {s.ticket for row in steps for s in row.shares},
            evidence="measured", how=_(_HOW), title=_("The last steps of this engine"),
            since=_("ms since the first of these steps"),
        )  # fmt: skip
        show(drawn, key="serving-steps")
    st.markdown(f"**{_('Policy')}.** {policy_in_words(policy)}")


_HOW = N_(
    "The engine notes when each step began and ended, who took part, the memory in use and why whoever waited did. A "
    "request appears from the first of these steps that names it. Numbers are the engine's own count of requests."
)


def _steps() -> tuple[list[StepRow], Policy]:
    """The newest rows; only what is new is asked for, but for the few that are shown again."""
    start = max(0, st.session_state.get(_NEXT, 0) - N_STEPS)
    table = engine_calls.engine_link().client.steps(start)
    if not table.rows and start:
        # Another engine process counts from 0.
        table = engine_calls.engine_link().client.steps(0)
    st.session_state[_NEXT] = table.rows[-1].number + 1 if table.rows else 0
    return table.rows[-N_STEPS:], table.policy


def last_steps(rows: list[StepRow], policy: Policy) -> Playback:
    """The newest rows as a playback that begins with the first of them."""
    recent = [row for row in rows if row.end_ns >= rows[-1].end_ns - SPAN_NS]
    seen: dict[int, int] = {}
    for row in recent:
        for ticket in (*(share.ticket for share in row.shares), *(wait.ticket for wait in row.waiting)):
            seen.setdefault(ticket, row.start_ns)
    name = _("steps {first} to {last}").format(first=f"{recent[0].number + 1:,}", last=f"{recent[-1].number + 1:,}")
    return Playback(name, policy, recent, dict(sorted(seen.items())), {}).moved(recent[0].start_ns)


def _read_sent() -> None:
    """Read what was sent from here once it has ended, so that the app keeps it."""
    for run_id in st.session_state.get(_SENT, []):
        engine_calls.find_run(run_id)


def _table(rows: list[BatchRow], own: Collection[int]) -> None:
    if not rows:
        st.caption(_("Nothing runs now."))
        return
    st.dataframe(pd.DataFrame(batch_columns(rows, own)), hide_index=True, width="stretch", key="serving-batch")
    if basis := basis_words(rows):
        st.caption(basis)
