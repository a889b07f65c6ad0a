"""The map of the site: which pages there are, under which addresses and headings.

Pages bring no `help` for the navigation: Streamlit would then draw two dozen hints anew, three times, for every change
on a page, which took a tenth of the time in which an instrument answers.
"""

from __future__ import annotations

import os
from pathlib import Path

import streamlit as st

from engine.account.record import Sampling
from lessons.catalogue import lessons
from lessons.structure import Lesson
from views.words import _, language

LAB = "lab"
LAB_SETTINGS = Sampling(temperature=0.7, max_new_tokens=60)
"""What the Lab starts with: a short story that ends where the model ends it."""

PREVIEW_FILE = "TWOSPEEDS_PREVIEW"
"""The variable that names a lesson that is being written; without it there is no page for one."""

PAGES = Path(__file__).resolve().parent.parent / "pages"


def lesson_page(lesson: Lesson) -> st.Page:
    """A lesson's page: every lesson is drawn by the same file and has an address of its own."""
    title = f"{lesson.number} · {lesson.front.title}"
    return st.Page(PAGES / "learn.py", title=title, url_path=lesson.slug)


def course_page() -> st.Page:
    """The list of lessons."""
    return st.Page(PAGES / "course.py", title=_("All lessons"), url_path="course")


def lab_page() -> st.Page:
    """The page with every setting."""
    return st.Page(PAGES / "lab.py", title=_("Lab"), url_path=LAB)


def serving_page() -> st.Page:
    """The page of the engine as a service."""
    return st.Page(PAGES / "serving.py", title=_("Serving"), url_path="serving")


def compare_page() -> st.Page:
    """The page for two runs side by side."""
    return st.Page(PAGES / "compare.py", title=_("Compare"), url_path="compare")


def recordings_page() -> st.Page:
    """The page of runs that are kept, opened from a file, or come with the course."""
    return st.Page(PAGES / "recordings.py", title=_("Recordings"), url_path="recordings")


def classroom_page() -> st.Page:
    """The page of a class: join it, teach it."""
    return st.Page(PAGES / "classroom.py", title=_("Classroom"), url_path="classroom")


def kernels_page() -> st.Page:
    """The page about the operations themselves."""
    return st.Page(PAGES / "kernels.py", title=_("Kernels"), url_path="kernels")


def method_page() -> st.Page:
    """The page about the numbers."""
    return st.Page(PAGES / "method.py", title=_("Method"), url_path="method")


def format_page() -> st.Page:
    """The page for people who write lessons."""
    return st.Page(PAGES / "format.py", title=_("Writing lessons"), url_path="format")


def preview_page() -> st.Page:
    """The lesson that is being written."""
    return st.Page(PAGES / "preview.py", title=_("Preview"), url_path="preview")


def sections() -> dict[str, list[st.Page]]:
    """The navigation: heading -> pages, in order."""
    written = [preview_page()] if os.environ.get(PREVIEW_FILE) else []
    return {
        _("Learn"): [course_page(), classroom_page(), *(lesson_page(lesson) for lesson in lessons(language()))],
        _("Try"): [lab_page(), compare_page(), serving_page(), recordings_page()],
        _("About the numbers"): [kernels_page(), method_page()],
        _("Teach"): [format_page(), *written],
    }
