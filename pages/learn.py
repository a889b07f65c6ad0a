"""A lesson: the one whose address was opened."""

from __future__ import annotations

import streamlit as st

from lessons.catalogue import lessons
from views.lesson import show_lesson
from views.words import language

show_lesson(next(lesson for lesson in lessons(language()) if lesson.slug == st.session_state["address"]))
