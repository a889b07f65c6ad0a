"""Questions on a page: a guess before the run, the guess beside what happened, and a check at the end."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext

import streamlit as st

from lessons.expressions import ExpressionError, Value
from lessons.filters import UNKNOWN, write
from lessons.questions import Answer, Question, Right
from lessons.structure import Block, Lesson
from views import attempts, class_here
from views.attempts import Attempt
from views.cards import Card, show_cards
from views.evidence import Evidence
from views.figure_curve import said, show_curves
from views.prose import filled, show_prose
from views.scene import Scene
from views.sketch import drawn, is_begun, sketch_box
from views.words import _


def committed(lesson: Lesson, question: str) -> bool:
    """Whether a guess has been made, or the learner has chosen to go on without one, and no class still votes on it."""
    return attempts.last(lesson.slug, question) is not None and not class_here.waits(lesson.slug, question)


def ask_guess(lesson: Lesson, block: Block, values: Mapping[str, Value], *, runs: bool) -> Attempt | None:
    """Draw a guess that has not been made; gives it in the script run in which it is committed or passed over.

    `runs` says that a prompt waits for it, so that the buttons can say what happens next.
    """
    question = Question.of(block)
    with st.container(border=True, key=f"predict-{lesson.slug}-{question.id}"):
        show_prose(question.text, values, f"{lesson.slug}-{question.id}")
        key = f"guess-box-{lesson.slug}-{question.id}"
        with st.form(f"guess-{lesson.slug}-{question.id}", border=False), answer_row(question):
            answer = answer_box(question, key, values)
            with nullcontext() if question.kind == "number" else st.container(horizontal=True):
                sure = st.form_submit_button(_("Guess and run") if runs else _("That is my guess"), type="primary")
                passed = st.form_submit_button(_("Run without a guess") if runs else _("Show it"), type="tertiary")
        if sure and answer is None:
            st.error(what_is_missing(question, key) + " " + _("A wrong one is welcome: nobody sees it but you."))
        if passed or (sure and answer is not None):
            return attempts.keep(lesson.slug, question.id, None if passed else answer)
    return None


def show_comparison(lesson: Lesson, block: Block, scene: Scene, *, own: bool = True) -> None:
    """The guess beside what happened, the text, and the card of the belief that a wrong guess shows.

    `own` False: on the stage of a class, whose votes stand there instead of a guess.
    """
    predicted = lesson.find("predict", block.argument)
    if predicted is None:
        return
    question = Question.of(predicted)
    guess = _standing(lesson, question)
    if asks_the_run(question) and not scene.whole:
        st.info(_("This run was cut short, so it does not answer the question. Run it again to the end."))
        return
    values = scene.values
    right = right_value(question, values)
    if question.axes is not None:
        key = f"{lesson.slug}-{question.id}"
        show_curves(question, guess if own else None, right, evidence_of(question, scene), key=key)
    else:
        _show_both(question, guess, right, values, own=own)
    if guess is not None and right is not None:
        _judge(lesson, question, guess, values)
    show_prose(block.body, values, f"{lesson.slug}-compare-{question.id}")


def _standing(lesson: Lesson, question: Question) -> Answer | None:
    """The latest answer, unless there is none or the lesson has changed since, so that it is none to this question."""
    attempt = attempts.last(lesson.slug, question.id)
    answer = attempt.answer if attempt else None
    return answer if answer is not None and question.accepts(answer) else None


def _show_both(
    question: Question, guess: Answer | None, right: Right, values: Mapping[str, Value], *, own: bool
) -> None:
    """Two cards side by side."""
    ran = _card(question.outcome or _("The model ran"), question, right, values, otherwise=_(UNKNOWN))
    show_cards([_card(_("You said"), question, guess, values, otherwise=_("no guess")), ran] if own else [ran], most=2)


def evidence_of(question: Question, scene: Scene) -> Evidence:
    """How the right curve was made: as the lesson says, or as the run in view was."""
    if not asks_the_run(question):
        return question.evidence
    return "recorded" if scene.recorded else "measured"


def asks_the_run(question: Question) -> bool:
    """Whether the right answer comes out of a run, and not of a formula or an instrument."""
    return any(name.startswith(("run.", "other.", "asked.")) for name in question.names)


def _card(label: str, question: Question, value: Right, values: Mapping[str, Value], otherwise: str) -> Card:
    """One of two values to compare. An option's words may be long: they stand in the size of what is read."""
    shown = otherwise if value is None else written_answer(question, value, values)
    return Card(label, None, words=shown) if question.options else Card(label, shown)


def written_answer(question: Question, value: Right, values: Mapping[str, Value]) -> str:
    """An answer as a person reads it: the option's words, or the number with its unit; a curve mark by mark."""
    if isinstance(value, str):
        return filled(question.options.get(value, value), values)
    if isinstance(value, tuple):
        assert question.axes is not None
        return said(question.axes, value, question.unit)
    return f"{write(value, ())} {question.unit}".strip()


def show_check(lesson: Lesson, block: Block, values: Mapping[str, Value]) -> None:
    """A question with one right answer, to be tried until it is found. A fragment."""
    st.fragment(_check, key=f"check-{lesson.slug}-{block.argument}-fragment")(lesson, block, values)


def _check(lesson: Lesson, block: Block, values: Mapping[str, Value]) -> None:
    question = Question.of(block)
    everything = {**values, **question.given}
    key = f"{lesson.slug}-{question.id}"
    box = f"check-box-{key}"
    with st.container(border=True, key=f"check-{key}"):
        show_prose(question.text, everything, key)
        with st.form(f"check-form-{key}", border=False), answer_row(question):
            answer = answer_box(question, box, everything)
            sent = st.form_submit_button(_("Check"), type="primary")
        if sent and answer is None:
            st.error(what_is_missing(question, box))
        elif sent and answer is not None:
            attempts.keep(lesson.slug, question.id, answer, question.is_right(answer, everything))
        _show_verdict(lesson, question, everything)


def _show_verdict(lesson: Lesson, question: Question, values: Mapping[str, Value]) -> None:
    attempt, answer = attempts.last(lesson.slug, question.id), _standing(lesson, question)
    if attempt is None or answer is None:
        return
    said = _repeated(question, answer, values)
    if attempt.right:
        st.success(f"{said} {filled(question.right, values)}", icon=":material/check:")
    else:
        st.warning(f"{said} {filled(question.wrong, values)}", icon=":material/close:")
    # A place that is emptied in so many words: left to Streamlit's own clearing, the card of a belief once stayed
    # beside the right answer when another rerun of the page crossed the fragment's.
    beside = st.empty()
    if not attempt.right:
        with beside.container():
            _show_card(lesson, question.card_for(answer, values), values)


def _repeated(question: Question, answer: Answer, values: Mapping[str, Value]) -> str:
    """What was answered, before the verdict on it; a curve is still to be seen in its box."""
    if isinstance(answer, tuple):
        return ""
    return f"“{written_answer(question, answer, values)}”" if isinstance(answer, str) else f"**{answer:,}**."


def _judge(lesson: Lesson, question: Question, guess: Answer, values: Mapping[str, Value]) -> None:
    if question.is_right(guess, values):
        st.success(_("You had it."), icon=":material/check:")
    else:
        _show_card(lesson, question.card_for(guess, values), values)


def _show_card(lesson: Lesson, card: str | None, values: Mapping[str, Value]) -> None:
    block = lesson.find("card", card) if card else None
    if block is None:
        return
    with st.container(border=True, key=f"card-{lesson.slug}-{card}"):
        st.markdown(f"**{filled(block.value('title') or '', values)}**")
        show_prose(block.body, values, f"{lesson.slug}-card-{card}")


def answer_row(question: Question) -> AbstractContextManager[object]:
    """A number's box and its buttons stand on one line; options and drawings have their buttons below."""
    return st.container(horizontal=True, vertical_alignment="bottom") if question.kind == "number" else nullcontext()


def what_is_missing(question: Question, key: str) -> str:
    """What is said to somebody who sends off a box of this key that holds no answer."""
    if question.axes is not None:
        return _("Draw the line on to the last mark.") if is_begun(key) else _("Draw a line first.")
    return _("Choose one first.") if question.options else _("Type a number first.")


def answer_box(question: Question, key: str, values: Mapping[str, Value]) -> Answer | None:
    """The options, axes to draw on, or a box that takes numbers within the question's limits; nothing is chosen at
    first.
    """
    if question.axes is not None:
        return sketch_box(question, question.axes, key)
    if question.options:
        label = question.label or _("Your answer")
        return st.radio(
            label, list(question.options), index=None, key=key, persist_state="session",
            format_func=lambda option: filled(question.options[option], values),
        )  # fmt: skip
    # All of one type, or Streamlit refuses them: decimals for all if the question takes decimals.
    kind = int if isinstance(question.step, int) and isinstance(question.smallest, int) else float
    decimals = len(str(question.step).partition(".")[2])
    return st.number_input(
        question.label, kind(question.smallest), kind(question.largest), value=None, step=kind(question.step), key=key,
        width=180, persist_state="session", placeholder=question.unit, format=None if kind is int else f"%.{decimals}f",
    )  # fmt: skip


def answer_in(question: Question, key: str) -> Answer | None:
    """The answer in the box of this key, for a callback; None where there is none, or one that cannot be taken."""
    answer = drawn(question, key) if question.axes is not None else st.session_state.get(key)
    return answer if answer is not None and question.accepts(answer) else None


def right_value(question: Question, values: Mapping[str, Value]) -> Right:
    """What is right for these values; None where that is not known here."""
    try:
        return question.right_value(values)
    except ExpressionError:
        return None
