"""The Classroom page: a learner's seat, a teacher's class, and by `?present=1&class=CODE` the sheet for a projector."""

from __future__ import annotations

import streamlit as st

from views import class_here, presenting
from views.class_host import own_classes, show_hosting
from views.class_join import show_joined, show_joining
from views.class_names import normal_class_code
from views.class_sheet import show_sheet
from views.instructor import ask_for_secret, is_instructor
from views.words import _


def show_classroom() -> None:
    """Draw it for whoever looks."""
    if presenting.mode() is not None:
        show_sheet()
        return
    st.title(_("Classroom"), anchor=False)
    found = class_here.look(presented=False)
    asked = normal_class_code(st.query_params.get("class", ""))
    if found is not None and found.seat is not None and asked in ("", found.one.code):
        show_joined(found.seat)
        with st.expander(_("Teach a class"), key="classroom-teach"):
            _teach()
    elif not asked and is_instructor() and own_classes():
        show_hosting()
        with st.expander(_("Join a class"), key="classroom-join"):
            show_joining()
    else:
        st.header(_("Join a class"), anchor="join")
        show_joining()
        st.header(_("Teach a class"), anchor="teach")
        _teach()


def _teach() -> None:
    if is_instructor():
        show_hosting()
        return
    with st.expander(_("I am the teacher"), key="classroom-teacher"):
        ask_for_secret("classroom")
