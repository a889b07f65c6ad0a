"""The course as a whole: the list of its lessons with what a learner has tried, and the way from one to the next."""

from __future__ import annotations

import streamlit as st

from lessons.catalogue import lessons
from lessons.structure import Lesson
from views import attempts
from views.own_work import show_own_work
from views.site import course_page, lesson_page
from views.words import _, language


def show_course() -> None:
    """Every lesson in order, each with its question, its length and how far the learner has come."""
    st.title(_("The course"), anchor=False)
    every = lessons(language())
    minutes = sum(lesson.front.minutes for lesson in every)
    st.markdown(
        _("Each lesson asks one question, lets you guess, and answers it with a run on the engine or an instrument.")
        + " "
        + _("{n} lessons, about {minutes} minutes in all.").format(n=len(every), minutes=minutes)
    )
    for lesson in every:
        with st.container(border=True, gap=None, key=f"course-{lesson.slug}"):
            st.page_link(lesson_page(lesson), label=f"**{lesson.number} · {lesson.front.title}**")
            st.markdown(lesson.front.question)
            about = _("about {minutes} minutes").format(minutes=lesson.front.minutes)
            st.caption(f"{about} · {progress(lesson)}")
    show_own_work()


def progress(lesson: Lesson) -> str:
    """How far a learner has come: by the questions tried, and the checks answered right."""
    checks = {block.argument for block in lesson.named("check")}
    asked = checks | {block.argument for block in lesson.named("predict")}
    own = attempts.of_lesson(lesson.slug)
    right = {one.question for one in own if one.right} & checks
    tried = {one.question for one in own} & asked
    if not tried:
        return _("not tried yet")
    if right == checks:
        return _("✓ done")
    return _("{tried} of {asked} questions tried").format(tried=len(tried), asked=len(asked))


def show_neighbours(lesson: Lesson) -> None:
    """The lesson before and the one after, and the list of all."""
    every = lessons(language())
    here = next((place for place, one in enumerate(every) if one.slug == lesson.slug), 0)
    st.divider()
    with st.container(horizontal=True, horizontal_alignment="distribute", key=f"neighbours-{lesson.slug}"):
        if here > 0:
            st.page_link(lesson_page(every[here - 1]), icon=":material/arrow_back:")
        st.page_link(course_page(), icon=":material/list:")
        if here + 1 < len(every):
            st.page_link(lesson_page(every[here + 1]), icon=":material/arrow_forward:")
