"""A learner's vote, in the place of the lesson's guess: the same question, asked twice, and no answer in between."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st

from lessons.expressions import Value
from lessons.questions import Answer, Question
from lessons.structure import Block, Lesson
from views import attempts
from views.class_curves import show_own_lines
from views.class_here import Here, class_votes, glance
from views.class_votes import PHASES, ROUND_OF, Key, Phase, Round
from views.prose import show_prose
from views.questions import answer_box, answer_in, answer_row, what_is_missing, written_answer
from views.theme import current_theme
from views.words import _, ngettext

LOOK_EVERY_S = 2.0


def show_ballot(lesson: Lesson, block: Block, values: Mapping[str, Value], found: Here) -> None:
    """The question with what the class does with it now; it follows the teacher by itself."""
    question = Question.of(block)
    key, name = (lesson.slug, question.id), f"{lesson.slug}-{question.id}"
    phase = found.phase(key)
    if phase is None:
        return
    with st.container(border=True, key=f"ballot-{name}"):
        st.markdown(f":material/how_to_vote: **{_head(phase)}**")
        show_prose(question.text, values, f"{name}-ballot")
        st.fragment(_vote, key=f"ballot-{name}-{phase}-fragment")(question, key, values, found, phase)
        st.fragment(watch, run_every=LOOK_EVERY_S, key=f"ballot-{name}-{phase}-watch")(key, found, phase)


def _head(phase: Phase) -> str:
    return {
        "first": _("First vote"),
        "talk": _("Talk"),
        "second": _("Second vote"),
        "done": _("The votes are in"),
        "revealed": _("The answer is out"),
    }[phase]


def _vote(question: Question, key: Key, values: Mapping[str, Value], found: Here, phase: Phase) -> None:
    """The form while a vote is open, and one's own votes. A fragment: sending draws nothing else anew."""
    assert found.seat is not None
    own = class_votes().own(found.seat.id, key)
    if number := ROUND_OF.get(phase):
        _form(_Paper(question, key, number, found.seat.id), values, own)
    if problem := st.session_state.get(_problem(key)):
        st.error(problem)
    _own_votes(question, values, own, "-".join(key))
    if phase == "talk":
        st.markdown(_("The vote is closed. Tell your neighbour what you chose and why. You vote again after that."))
    elif phase == "done":
        st.markdown(_("Both votes are closed. The answer comes now, in front of the class; then you run it yourself."))


@dataclass(frozen=True)
class _Paper:
    """What a vote is about and whose it is."""

    question: Question
    key: Key
    number: Round
    seat: int

    @property
    def box(self) -> str:
        """The box's widget key."""
        return f"ballot-box-{'-'.join(self.key)}-{self.number}"


def _form(paper: _Paper, values: Mapping[str, Value], own: Mapping[Round, Answer]) -> None:
    """The box and its button. Votes are handed in by callbacks, so that what is drawn after them knows."""
    with st.form(f"{paper.box}-form", border=False), answer_row(paper.question):
        answer_box(paper.question, paper.box, values)
        words = _("Change my vote") if paper.number in own else _("Vote")
        st.form_submit_button(words, type="primary", on_click=_hand_in, args=(paper,))
    if paper.number == 2 and 1 in own and 2 not in own:
        st.button(_("Keep my first vote"), key=f"{paper.box}-keep", on_click=_send, args=(paper, own[1]))


def _hand_in(paper: _Paper) -> None:
    answer = answer_in(paper.question, paper.box)
    if answer is None:
        st.session_state[_problem(paper.key)] = what_is_missing(paper.question, paper.box)
        return
    _send(paper, answer)


def _send(paper: _Paper, answer: Answer) -> None:
    """Have a vote counted; why it was not is shown under the box."""
    came = class_votes().vote(paper.seat, paper.key, paper.number, answer)
    if came == "counted":
        attempts.keep(*paper.key, answer)
        st.session_state.pop(_problem(paper.key), None)
        return
    st.session_state[_problem(paper.key)] = {
        "closed": _("The vote was closed before yours came in, so it is not counted."),
        "ended": _("The class has ended, so your vote is not counted."),
    }.get(came, _("Your vote could not be kept: the server's disk may be full. Tell your teacher."))


def _problem(key: Key) -> str:
    return f"ballot-problem-{'-'.join(key)}"


def _own_votes(question: Question, values: Mapping[str, Value], own: Mapping[Round, Answer], key: str) -> None:
    """What is counted, which may not be what stands in the box by now."""
    if question.axes is not None and own:
        st.markdown(f":material/check: {_('What you drew is counted:')}")
        show_own_lines(question, own, current_theme(), key=key)
        return
    words = {1: _("Your first vote: {answer}"), 2: _("Your second vote: {answer}")}
    for number, answer in sorted(own.items()):
        said = words[number].format(answer=f"**{written_answer(question, answer, values)}**")
        st.markdown(f":material/check: {said}")


def watch(key: Key, found: Here, drawn: Phase) -> None:
    """How many have voted; when the teacher has gone on, the page is drawn anew."""
    now = glance(found.one.id, key)
    if not now.is_live or (now.phase is not None and PHASES.index(now.phase) > PHASES.index(drawn)):
        st.rerun()
    if number := ROUND_OF.get(drawn):
        n = now.n_second if number == 2 else now.n_first
        st.caption(ngettext("{n} of {all} has voted.", "{n} of {all} have voted.", n).format(n=n, all=now.n_learners))
