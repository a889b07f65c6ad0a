"""Classroom: join a class by its code, start one, and show its code to the room."""

from __future__ import annotations

from views.classroom import show_classroom

show_classroom()
