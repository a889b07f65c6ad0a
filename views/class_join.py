"""A learner's side of a class: join by its code, a pseudonym to redraw, what to share, and the way out."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from lessons.catalogue import lessons
from lessons.structure import Lesson
from views.class_here import Here, class_store, class_votes, look
from views.class_names import looks_like_a_class_code, normal_class_code, shown_class_code
from views.class_store import MOST_LEARNERS, Seat
from views.database import KEEP_DAYS
from views.resume_code import Limit
from views.site import classroom_page, course_page, lesson_page
from views.visitor import attempt_store, browser
from views.words import _, language

TRIES_OF_ONE = Limit(10, 60)
TRIES_OF_ALL = Limit(600, 60)
"""A whole school may join in the same minute; at this pace one of a hundred classes is found in a day or so, and what
is found is a seat under a pseudonym.
"""
DRAWS = Limit(20, 60)
LOOK_EVERY_S = 4.0
_REFUSED = "class.refused-to-join"


def show_seat(found: Here | None) -> None:
    """A line on a lesson that says in which class one sits, and as whom."""
    if found is None or found.seat is None:
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="class-seat"):
        st.badge(shown_class_code(found.one.code), icon=":material/groups:", color="gray")
        st.markdown(_("You are **{name}**.").format(name=found.seat.name))
        st.page_link(classroom_page(), label=_("Your class"))
    if not found.one.lesson:
        st.fragment(_follow, run_every=LOOK_EVERY_S, key="class-follow")(found)


def _follow(found: Here) -> None:
    """In a class about the course: when the teacher opens a question, the page is drawn anew and shows it."""
    if set(class_votes().phases(found.one.id)) - set(found.phases):
        st.rerun()


def show_joining() -> None:
    """The box for the code; filled in where the address brings it."""
    st.markdown(_("Your teacher shows a code. You take part under a pseudonym; nobody asks for your name."))
    if browser() is None:
        st.warning(_("Your browser keeps no cookie from here, and without it a class cannot tell its learners apart."))
        return
    key = "class-code"
    st.session_state.setdefault(key, st.query_params.get("class", "")[:20])
    with st.form("class-join", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        st.text_input(_("Class code"), key=key, autocomplete="off", width=320, placeholder="K7Q M3X")
        st.form_submit_button(_("Join the class"), type="primary", on_click=_join, args=(key,))
    if problem := st.session_state.get(_REFUSED):
        st.error(problem)


def show_joined(seat: Seat) -> None:
    """Who one is, where to go, and what one lets the teacher see."""
    st.markdown(_("You sit in class **{code}** as").format(code=shown_class_code(seat.code)))
    with st.container(horizontal=True, vertical_alignment="center", key="class-name"):
        st.header(seat.name, anchor=False, width="content")
        st.button(
            _("Another name"),
            icon=":material/casino:",
            type="tertiary",
            key="class-rename",
            on_click=_rename,
            args=(seat,),
        )
    st.fragment(_ways_in, run_every=LOOK_EVERY_S, key="class-ways-in")(seat)
    _shares(seat)
    with st.popover(_("Leave the class"), icon=":material/logout:"):
        st.markdown(_("Your seat, your pseudonym and your votes in this class go. Your answers and runs stay yours."))
        st.button(_("Leave it"), key="class-leave", on_click=_leave, args=(seat,))


def lesson_of(slug: str) -> Lesson | None:
    """The lesson of a class; None for the whole course, or one that is not here any more."""
    return next((one for one in lessons(language()) if one.slug == slug), None)


def _ways_in(seat: Seat) -> None:
    """The way to the class's lesson, or to where the teacher has opened a question."""
    phases = class_votes().phases(seat.class_id)
    open_now = [slug for (slug, _question), phase in phases.items() if phase != "revealed"]
    wanted = lesson_of(seat.lesson) or (lesson_of(open_now[-1]) if open_now else None)
    with st.container(border=True, key="class-way"):
        if wanted is None:
            st.markdown(_("Your class goes through the whole course. Your teacher says which lesson is on."))
            st.page_link(course_page(), label=_("All lessons"), icon=":material/list:")
        else:
            st.markdown(_("Your class is at lesson {number}.").format(number=wanted.number))
            st.page_link(lesson_page(wanted), icon=":material/arrow_forward:")


def _shares(seat: Seat) -> None:
    answers = st.toggle(
        _("My teacher may see my answers beside my pseudonym"), seat.shares_answers, key=f"class-answers-{seat.id}"
    )
    prompts = st.toggle(
        _("The recording of the class may hold the prompts that I type"),
        seat.shares_prompts,
        key=f"class-prompts-{seat.id}",
    )
    if (answers, prompts) != (seat.shares_answers, seat.shares_prompts):
        class_store().share(seat, answers=answers, prompts=prompts)
    st.caption(
        _(
            "Your teacher sees your pseudonym, how many questions you have tried and how many runs you have made. "
            "Votes are counted, not listed. All of it is deleted {days} days after the class, or with your data on the "
            "page “All lessons”."
        ).format(days=KEEP_DAYS)
    )


def _join(key: str) -> None:
    """A callback, so that the page is drawn as whoever has joined."""
    typed = str(st.session_state.get(key, ""))
    problem = join(typed)
    st.session_state[_REFUSED] = problem
    if problem is None:
        st.query_params.pop("class", None)
        look(presented=False)


def join(typed: str) -> str | None:
    """Take a seat in the class of a code; why there is none."""
    name = browser()
    if name is None:
        return _("Your browser keeps no cookie from here, and without it a class cannot tell its learners apart.")
    if not looks_like_a_class_code(typed):
        return _("A class code has six letters and digits, like K7Q M3X. Look for a slip of the fingers.")
    if not (TRIES_OF_ONE.allows(name) and TRIES_OF_ALL.allows("all")):
        return _("That was tried too often just now. Wait a minute.")
    visitor = attempt_store().visitor(name)
    came = class_store().join(visitor, typed) if visitor is not None else "not_kept"
    says: dict[str, Callable[[], str]] = {
        "unknown": lambda: _("No class has the code {code}. Compare it with what your teacher shows."),
        "ended": lambda: _("The class {code} has ended. Its lesson is still here for you, each at their own pace."),
        "full": lambda: _("The class {code} is full: {n} learners are in it. Watch along, or ask for a second class."),
        "not_kept": lambda: _("The class could not be joined: the server's disk may be full. Tell your teacher."),
    }
    if came == "joined":
        return None
    return says[came]().format(code=shown_class_code(normal_class_code(typed)), n=MOST_LEARNERS)


def _rename(seat: Seat) -> None:
    if DRAWS.allows(str(seat.id)):
        class_store().rename(seat)


def _leave(seat: Seat) -> None:
    class_store().leave(seat)
