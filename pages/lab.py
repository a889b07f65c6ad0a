"""The Lab: one run with every setting and every instrument."""

from __future__ import annotations

import streamlit as st

from views.lab import show_lab
from views.words import _

st.title(_("Lab"), anchor=False)
show_lab()
