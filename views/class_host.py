"""A teacher's class: start it, show the code, see who is here and how far, steer the votes, take it along, end it."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from lessons.catalogue import lessons
from lessons.questions import Question
from lessons.structure import Block, Lesson
from views.class_here import Here, class_store, class_votes
from views.class_join import lesson_of
from views.class_names import looks_like_a_class_code, shown_class_code
from views.class_panel import show_panels
from views.class_record import show_recording
from views.class_sheet import class_address, is_for_this_machine_only, show_qr
from views.class_store import LASTS_S, MOST_CLASSES, Class, Learner
from views.instructor import is_instructor
from views.language import in_link
from views.links import address
from views.page_state import PageState
from views.questions import written_answer
from views.scene import Scene, lesson_sampling, scene_of
from views.site import serving_page
from views.visitor import attempt_store, browser
from views.words import _, language, ngettext

LOOK_EVERY_S = 2.0
_STARTED = "class.started"
"""Session key: the class started here, for a browser without a cookie."""
_PROBLEM = "class.not-started"


def show_hosting() -> None:
    """The teacher's classes, or the form that starts one."""
    own = own_classes()
    if not own:
        _start_form()
        return
    one = own[0]
    if len(own) > 1:
        one = st.selectbox(_("Class"), own, format_func=_named, key="class-which")
    _show_class(one)
    with st.expander(_("Start another class"), key="class-another"):
        _start_form()


def own_classes() -> list[Class]:
    """Those of this browser, and one that the address names: two machines of one teacher may host the same class."""
    name = browser()
    own = class_store().of_teacher(name) if name else []
    for code in (st.query_params.get("host", ""), st.session_state.get(_STARTED, "")):
        named = class_store().find(code) if looks_like_a_class_code(code) else None
        if named is not None and named.is_live and named not in own:
            own.insert(0, named)
    return own


def _start_form() -> None:
    choices = ["", *(lesson.slug for lesson in lessons(language()))]
    with st.form("class-start", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        st.selectbox(_("The class is about"), choices, 1, format_func=_lesson_name, key="class-lesson", width=420)
        st.form_submit_button(_("Start a class"), type="primary", on_click=_start)
    if problem := st.session_state.get(_PROBLEM):
        st.error(problem)
    st.caption(
        _(
            "You get a code; learners join with it under pseudonyms. In a class about one lesson, its questions wait "
            "for your votes; in one about the whole course, those that you open. It ends by your button, or after "
            "{hours} hours."
        ).format(hours=round(LASTS_S / 3600))
    )


def _start() -> None:
    """A callback, so that the page is drawn with the class."""
    if not is_instructor():
        return
    name = browser()
    one = class_store().start(attempt_store().visitor(name) if name else None, st.session_state["class-lesson"])
    st.session_state[_PROBLEM] = None
    if one is None:
        st.session_state[_PROBLEM] = _(
            "No class could be started: {n} are under way already, or the server's disk is full."
        ).format(n=MOST_CLASSES)
    else:
        st.session_state[_STARTED] = one.code


def _show_class(one: Class) -> None:
    lesson = lesson_of(one.lesson)
    with st.container(border=True, key="class-card"):
        with st.container(horizontal=True, vertical_alignment="center", gap="large", key="class-head"):
            with st.container(key="class-code-large"):
                st.metric(_lesson_name(one.lesson), shown_class_code(one.code))
                st.markdown(_("Learners open {address}").format(address=f"`{class_address(one)}`"))
                _ways(one, lesson)
            show_qr(one, 150)
        if is_for_this_machine_only():
            st.warning(_(
                "Only this machine can open that address. For a class, start the server so that others reach it: “A "
                "class” in the README says how."
            ))  # fmt: skip
    st.fragment(_class_list, run_every=LOOK_EVERY_S, key="class-list")(one)
    _votes(one, lesson)
    show_recording(one)
    with st.popover(_("End the class"), icon=":material/stop_circle:"):
        st.markdown(_("Votes can no longer be given, and every learner goes on alone. This cannot be taken back."))
        st.button(_("End it now"), type="primary", key="class-end", on_click=_end, args=(one,))


def _end(one: Class) -> None:
    if is_instructor():
        class_store().end(one.id)


def _ways(one: Class, lesson: Lesson | None) -> None:
    """To the stage, the sheet and the notes, each in a tab of its own, and to what the class does to the engine."""
    about = {"class": one.code} | in_link()
    with st.container(horizontal=True, key="class-links"):
        if lesson is not None:
            stage = address(lesson.slug, {"present": "1", **about})
            st.link_button(_("Present the lesson"), stage, icon=":material/slideshow:", type="primary")
        st.link_button(_("Show the code"), address("classroom", {"present": "1", **about}), icon=":material/qr_code_2:")
        if lesson is not None:
            notes = address(lesson.slug, {"present": "notes", **about})
            st.link_button(_("Speaker notes"), notes, icon=":material/notes:")
        st.page_link(serving_page(), label=_("The class is the workload"), icon=":material/monitoring:")


def _class_list(one: Class) -> None:
    """Who is here, by pseudonym, and how far; never what anybody answered, unless they let it be seen."""
    learners = class_store().learners(one)
    n = len(learners)
    st.header(ngettext("{n} learner", "{n} learners", n).format(n=n), anchor=False)
    if not learners:
        st.caption(_("Nobody has joined yet. Show the code: learners type it on this page, or open the address."))
        return
    st.dataframe(pd.DataFrame(class_table(learners)), hide_index=True, width="stretch", key="class-learners")


def class_table(learners: list[Learner]) -> dict[str, list[object]]:
    """The class list as columns."""
    return {
        _("learner"): [one.name for one in learners],
        _("questions tried"): [one.n_tried for one in learners],
        _("the last one"): [_place(one) for one in learners],
        _("runs"): [one.n_runs for one in learners],
    }


def _place(learner: Learner) -> str:
    lesson = lesson_of(learner.lesson)
    return _("lesson {number}, {question}").format(number=lesson.number, question=learner.question) if lesson else ""


def _votes(one: Class, lesson: Lesson | None) -> None:
    """The questions of the class's lesson, or of one that is chosen."""
    st.header(_("Votes"), anchor=False)
    if lesson is None:
        every = lessons(language())
        lesson = st.selectbox(_("Lesson"), every, format_func=lambda each: _lesson_name(each.slug), key="class-of")
    page = PageState(lesson.slug, lesson_sampling(lesson))
    scene = scene_of(page, lesson.front.recording, lesson.front.other_recording)
    found = Here(one, None, class_votes().phases(one.id))
    show_panels(lesson, scene, found)
    for block in lesson.named("predict"):
        if found.phase((lesson.slug, block.argument)) in ("done", "revealed"):
            _shared(one, lesson, block, scene)


def _shared(one: Class, lesson: Lesson, block: Block, scene: Scene) -> None:
    """Whose answer was which, of the learners who let their teacher see it."""
    shared = class_votes().shared(one.id, (lesson.slug, block.argument))
    names = {learner.seat: learner.name for learner in class_store().learners(one)} if shared else {}
    question = Question.of(block)
    told = [
        f"{names[seat]}: {written_answer(question, answer, scene.values)}"
        for seat, answer in shared.items()
        if question.accepts(answer)
    ]
    if told:
        st.caption(_("Shown by learners who chose to: {each}.").format(each="; ".join(told)))


def _named(one: Class) -> str:
    return f"{shown_class_code(one.code)} · {_lesson_name(one.lesson)}"


def _lesson_name(slug: str) -> str:
    lesson = lesson_of(slug)
    return f"{lesson.number} · {lesson.front.title}" if lesson else _("The whole course")
