"""What the page Method says of engines that do not run on this machine: which they are, never how they are entered."""

from __future__ import annotations

import streamlit as st

from engine.outside.server import OutsideError, configured
from views.engine_link import engine_link
from views.safe_text import code_span, plain
from views.words import _


def show_elsewhere() -> None:
    """The engine that was set by address: its host and what computes there."""
    link = engine_link()
    place = code_span(link.place or "")
    machine = link.health().machine
    if machine is None:
        st.markdown(_("The engine runs elsewhere, at {place}.").format(place=place))
        return
    st.markdown(
        _("The engine runs elsewhere, at {place}, on {name}. Its times are taken there, by its own clock.").format(
            place=place, name=code_span(machine)
        )
    )


def show_outside_setting() -> None:
    """The outside engine, where the operator has set one."""
    try:
        server = configured()
    except OutsideError as no:
        st.warning(plain(no.message))
        return
    if server is not None:
        st.markdown(
            _(
                "The Lab can also ask an outside engine, at {place}. It is timed from here, and its insides are not "
                "known."
            ).format(place=code_span(server.name))
        )
