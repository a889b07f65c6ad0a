"""For teachers, at the end of a lesson: notes, the answer key, files to print, and the ways to present it.

`?teach=1` opens it with the answers shown. Nothing of it is secret: the answers stand in the lessons' files.
"""

from __future__ import annotations

import streamlit as st

from lessons.catalogue import lessons
from lessons.structure import Block, Lesson
from views.answer_key import answers, lesson_key
from views.handout import handout
from views.prose import filled
from views.scene import Scene
from views.site import lesson_page
from views.words import _


def show_teaching(lesson: Lesson, notes: Block, scene: Scene) -> None:
    """Draw the section; it travels when somebody unfolds it, since few do. A fragment."""
    st.fragment(_teaching, key=f"teaching-{lesson.slug}-fragment")(lesson, notes, scene)


def _teaching(lesson: Lesson, notes: Block, scene: Scene) -> None:
    asked_for = st.query_params.get("teach") == "1"
    fold = st.expander(_("For teachers"), expanded=asked_for, key=f"teaching-{lesson.slug}", on_change="rerun")
    if not fold.open:
        return
    with fold:
        st.markdown(filled(notes.body, scene.values))
        with st.container(horizontal=True, key=f"teaching-files-{lesson.slug}"):
            download_handout(lesson)
            st.download_button(
                _("Answer key"), lambda: lesson_key(lesson).encode(), f"{lesson.path.stem}-key.md", "text/markdown",
                icon=":material/download:", on_click="ignore", key=f"key-{lesson.slug}",
            )  # fmt: skip
        _ways_to_present(lesson)
        if st.toggle(_("Show the answers"), value=asked_for, key=f"answers-{lesson.slug}"):
            st.markdown(answers(lesson))


def download_handout(lesson: Lesson) -> None:
    """The lesson on paper, made when the button is pressed."""
    st.download_button(
        _("Handout to print"), lambda: handout(lesson).encode(), f"{lesson.path.stem}.html", "text/html",
        icon=":material/print:", on_click="ignore", key=f"handout-{lesson.slug}",
    )  # fmt: skip


def _ways_to_present(lesson: Lesson) -> None:
    if lesson.slug not in {one.slug for one in lessons()}:
        return  # a lesson that is being written has no address of its own yet
    page = lesson_page(lesson)
    with st.container(horizontal=True, key=f"teaching-present-{lesson.slug}"):
        st.page_link(page, label=_("Present it"), icon=":material/slideshow:", query_params={"present": "1"})
        st.page_link(
            page, label=_("Present it, controls hidden"), icon=":material/lock:",
            query_params={"present": "1", "lock": "1"},
        )  # fmt: skip
        st.page_link(page, label=_("Speaker notes"), icon=":material/notes:", query_params={"present": "notes"})
