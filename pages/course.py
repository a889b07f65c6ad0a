"""The course: every lesson in order."""

from __future__ import annotations

from views.course import show_course

show_course()
