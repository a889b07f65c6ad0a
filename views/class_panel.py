"""A question in the teacher's hands: open and close the votes, see how many have voted, then what, then reveal it.

It stands on the stage in large type, in the speaker's notes and on the Classroom page; whichever is used, the others
follow. What was voted is drawn only after the second vote has closed: seen before it, the longer bar wins votes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import streamlit as st

from lessons.questions import Answer, Question, Right
from lessons.structure import Block, Lesson
from views import attempts
from views.asking import begin_pending, keep_waiting
from views.class_curves import show_axes, show_curve_votes
from views.class_figure import show_votes, vote_rows
from views.class_here import Here, class_votes, glance, here
from views.class_names import shown_class_code
from views.class_votes import PHASES, Key, Phase
from views.instructor import is_instructor
from views.prose import filled, show_prose
from views.questions import asks_the_run, right_value, written_answer
from views.scene import Scene
from views.theme import current_theme
from views.words import _

LOOK_EVERY_S = 2.0
_REFUSED = "class.refused"
_BOLD = re.compile(r"\*\*(.+?)\*\*", re.DOTALL)


@dataclass(frozen=True)
class _Poll:
    """One question of one class, as this script run found it."""

    lesson: Lesson
    question: Question
    found: Here
    phase: Phase | None

    @property
    def key(self) -> Key:
        """Lesson and question."""
        return self.lesson.slug, self.question.id

    @property
    def name(self) -> str:
        """For widget keys."""
        return f"{self.lesson.slug}-{self.question.id}-{self.phase}"


def show_panel(lesson: Lesson, block: Block, scene: Scene, found: Here, *, large: bool) -> None:
    """The question with its votes, and the button that goes on. `large`: on a stage, with the code to join by."""
    question = Question.of(block)
    poll = _Poll(lesson, question, found, found.phase((lesson.slug, question.id)))
    values = {**scene.values, **question.given}
    with st.container(border=True, key=f"class-panel-{poll.name}"):
        show_prose(question.text, values, f"{poll.name}-panel")
        if large and poll.phase not in ("done", "revealed"):
            for option in question.options.values():
                st.markdown(f"- {filled(option, values)}")
            if question.axes is not None:
                show_axes(question, current_theme(), key=poll.name)
        with st.container(horizontal=True, vertical_alignment="center", gap="large", key=f"class-votes-{poll.name}"):
            st.fragment(_watch, run_every=LOOK_EVERY_S, key=f"class-watch-{poll.name}")(poll)
            if large:
                st.metric(_("Class"), shown_class_code(found.one.code), width="content")
        st.markdown(_said(poll.phase))
        _buttons(poll)
        if poll.phase in ("done", "revealed") or (poll.phase == "talk" and _peek(poll)):
            show_result(lesson, block, scene, found, large=large)


def show_result(lesson: Lesson, block: Block, scene: Scene, found: Here, *, large: bool) -> None:
    """What the class voted; on the stage with the right answer marked, once its run has given it."""
    question = Question.of(block)
    key = (lesson.slug, question.id)
    tally = class_votes().tally(found.one.id, key)
    if not tally.pairs:
        st.caption(_("Nobody has voted."))
        return
    right = _told_right(question, scene) if large and found.phase(key) == "revealed" else None

    name = "-".join(key)
    if question.axes is not None:
        show_curve_votes(question, tally, right, current_theme(), key=name)
        return

    def written(answer: Answer) -> str:
        return written_answer(question, answer, scene.values)

    rows = vote_rows(question, tally, right, written)
    show_votes(rows, tally, current_theme(), large=large, key=name)


def show_panels(lesson: Lesson, scene: Scene, found: Here) -> None:
    """Every question of a lesson, those under way open: for the Classroom page and the speaker's notes."""
    for block in lesson.named("predict"):
        under_way = found.phase((lesson.slug, block.argument)) not in (None, "revealed")
        bold = _BOLD.search(block.body)
        title = filled(bold[1], scene.values) if bold else block.argument
        with st.expander(title, expanded=under_way, key=f"class-poll-{lesson.slug}-{block.argument}"):
            show_panel(lesson, block, scene, found, large=False)


def open_revealed(lesson: Lesson, scene: Scene, found: Here) -> None:
    """On the stage: open what has been revealed since, here or in another window, and answer it by a run."""
    for block in lesson.named("predict"):
        key = (lesson.slug, block.argument)
        if found.phase(key) != "revealed":
            continue
        led_to = lesson.runs_after(block.argument)
        ran = led_to and run_it_now(lesson, block, scene)
        told = attempts.last(*key)
        if told is None or told.at.timestamp() < found.one.began:
            attempts.keep(*key, None)
        elif not ran:
            continue
        st.rerun()


def run_it_now(lesson: Lesson, block: Block, scene: Scene) -> bool:
    """When the class's answer is out: run the prompt that waited for it, or the one in the box; once, and only where no
    run is in view. Whether a run was asked for.
    """
    found = here()
    if found is None or found.phase((lesson.slug, block.argument)) != "revealed" or not scene.recorded:
        return False
    done: set[Key] = st.session_state.setdefault("class.ran", set())
    key = (lesson.slug, f"{block.argument} {found.one.code}")
    if key in done:
        return False
    keep_waiting(scene.page, lesson)
    begin_pending(scene.page, lesson)
    done.add(key)  # only now: a script run that is interrupted before has not done it
    return True


def _told_right(question: Question, scene: Scene) -> Right:
    if asks_the_run(question) and not scene.whole:
        return None
    return right_value(question, scene.values)


def _watch(poll: _Poll) -> None:
    """How many have voted; when another window has gone on, the page is drawn anew."""
    now = glance(poll.found.one.id, poll.key)
    behind = now.phase is not None and (poll.phase is None or PHASES.index(now.phase) > PHASES.index(poll.phase))
    if not now.is_live or behind:
        st.rerun()
    if poll.phase is None:
        st.metric(_("In the class"), str(now.n_learners))
        return
    second = poll.phase == "second" or (poll.phase != "first" and now.n_second > 0)
    label = _("Second vote") if second else _("First vote")
    n = now.n_second if second else now.n_first
    st.metric(label, _("{n} of {all}").format(n=n, all=now.n_learners))


def _said(phase: Phase | None) -> str:
    match phase:
        case None:
            return _("Not opened: learners answer this question each at their own pace.")
        case "first":
            return _("**First vote.** Everybody for themselves.")
        case "talk":
            return _("**Talk.** Tell your neighbour what you chose, and why. Then vote again.")
        case "second":
            return _("**Second vote.** Keep your answer, or change it.")
        case "done":
            return _("**The votes are in.** Now we run it.")
        case "revealed":
            return _("**The answer is out.**")


def _buttons(poll: _Poll) -> None:
    """What comes next, and where there is one, the way round it."""
    ways: dict[Phase | None, list[tuple[str, Phase]]] = {
        None: [(_("Open the vote"), "first")],
        "first": [(_("Close the vote"), "talk")],
        "talk": [(_("Open the second vote"), "second"), (_("No second vote"), "done")],
        "second": [(_("Close the second vote"), "done")],
        "done": [(_("Reveal: run it"), "revealed")],
    }
    with st.container(horizontal=True, key=f"class-ways-{poll.name}"):
        for place, (label, to) in enumerate(ways.get(poll.phase, [])):
            kind = "secondary" if place else "primary"
            st.button(label, type=kind, key=f"class-{poll.name}-{to}", on_click=_go, args=(poll, to))  # type: ignore[arg-type]
    if problem := st.session_state.pop(_REFUSED, None):
        st.error(problem)


def _go(poll: _Poll, to: Phase) -> None:
    if not is_instructor():
        st.session_state[_REFUSED] = _("Only the teacher can do this.")
    elif not class_votes().advance(poll.found.one, poll.key, poll.phase, to):
        st.session_state[_REFUSED] = _(
            "That did not change anything: another window has gone on, or the class has ended."
        )


def _peek(poll: _Poll) -> bool:
    return st.toggle(
        _("Show the first vote now"), key=f"class-peek-{poll.name}",
        help=_("Seen before the second vote, the longer bar wins votes."),
    )  # fmt: skip
