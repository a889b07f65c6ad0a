"""The quiet lane: a teacher reserves the engine for a timing experiment, and everybody else is told until when.

The key of a reservation stays in the session that made it. The engine ends every reservation by itself.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import streamlit as st

from engine.serve import wire
from engine.serve.client import EngineRefused, EngineUnavailable
from views import engine_calls, lane_key
from views.engine_faults import in_words
from views.instructor import is_instructor
from views.live_table import live_table, look_anew
from views.safe_text import plain
from views.words import _, ngettext

SECONDS = (30, 60, wire.MAX_RESERVED_S)
LOOK_EVERY_S, IDLE_EVERY_S = 1.0, 4.0


def is_reserved() -> bool:
    """Whether the engine works for one person only just now."""
    return _reserved_until() is not None


def quiet_lane_controls(key: str = "quiet-lane") -> None:
    """For a teacher: reserve the engine, see until when, give it back. For others: why they wait, while they do."""
    reserved = is_reserved()
    # What changes that draws the whole page again, with another interval.
    st.fragment(_draw, run_every=LOOK_EVERY_S if reserved else IDLE_EVERY_S, key=key)(key, reserved)


def reserved_words(until: str) -> str:
    """What a reservation means for whoever did not make it."""
    return _(
        "The instructor has reserved the engine for a timing experiment until {time}. Runs that are sent now wait, and "
        "go on by themselves then."
    ).format(time=clock_time(until))


def clock_time(instant: str) -> str:
    """A moment (ISO 8601 in UTC) on the clock of whoever looks at the page."""
    return datetime.fromisoformat(instant).astimezone(_zone()).strftime("%H:%M:%S")


def _draw(key: str, drawn_reserved: bool) -> None:
    until = _reserved_until()
    if (until is not None) != drawn_reserved:
        if until is None:
            lane_key.forget()
        st.rerun()
    own = lane_key.own_key()
    if until is not None and own is None:
        st.info(reserved_words(until))
    elif until is not None:
        _in_use(until, key)
    elif is_instructor():
        _offer(key)


def _offer(key: str) -> None:
    st.markdown(_("**A quiet lane.** Have the engine to yourself for a timing: runs of others wait until it is over."))
    with st.container(horizontal=True, vertical_alignment="bottom", key=f"{key}-offer"):
        seconds = st.selectbox(
            _("For how long"), SECONDS, index=1, width=160, key=f"{key}-seconds",
            format_func=lambda n: ngettext("{n} second", "{n} seconds", n).format(n=n),
        )  # fmt: skip
        if st.button(_("Reserve the engine"), icon=":material/timer:", key=f"{key}-reserve"):
            _reserve(seconds)
    st.caption(_("It ends by itself, so it cannot be forgotten. Whoever waits then is served before the next one."))


def _in_use(until: str, key: str) -> None:
    left = max(0, round(lane_key.seconds_left(until)))
    st.success(
        _(
            "The engine is yours until {time} ({s} s). Runs that you send from this window, on any page, go alone as "
            "soon as those that were there before have ended."
        ).format(time=clock_time(until), s=left)
    )
    if st.button(_("Give it back now"), key=f"{key}-give-back"):
        _give_back()
        st.rerun()


def _reserve(seconds: int) -> None:
    try:
        lane_key.keep(engine_calls.engine_link().client.reserve(seconds))
    except EngineRefused as no:
        st.error(plain(in_words(no)))
    except EngineUnavailable:
        st.error(_("The engine does not answer now. Try again in a moment."))
    else:
        look_anew()
        st.rerun()


def _give_back() -> None:
    own = lane_key.own_key()
    lane_key.forget()
    if own is not None:
        with suppress(EngineRefused, EngineUnavailable):  # it ends by itself
            engine_calls.engine_link().client.give_back(own)
    look_anew()


def _reserved_until() -> str | None:
    table = live_table()
    return table.reserved_until if table else None


def _zone() -> tzinfo:
    try:
        return ZoneInfo(st.context.timezone or "UTC")
    except (ZoneInfoNotFoundError, ValueError):
        return UTC
