"""The key of a reservation, kept in the session that made it, to go with the runs that are sent from there."""

from __future__ import annotations

from datetime import UTC, datetime

import streamlit as st

from engine.serve import wire

_OWN = "quiet-lane"


def keep(reservation: wire.Reservation) -> None:
    """This session has reserved the engine."""
    st.session_state[_OWN] = reservation


def own_key() -> str | None:
    """The key of this session's own reservation; None if it has none, or none any more."""
    own: wire.Reservation | None = st.session_state.get(_OWN)
    if own is not None and seconds_left(own.until) <= 0:
        forget()
        return None
    return own.key if own else None


def forget() -> None:
    """This session's reservation is over."""
    st.session_state.pop(_OWN, None)


def seconds_left(until: str) -> float:
    """From now to a moment of the wall clock (ISO 8601)."""
    return (datetime.fromisoformat(until) - datetime.now(UTC)).total_seconds()
