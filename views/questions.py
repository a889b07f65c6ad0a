"""Questions on a page: a guess before the run, the guess beside what happened, and a check at the end."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from lessons.expressions import ExpressionError, Value
from lessons.questions import Question
from lessons.structure import Block, Lesson
from views import attempts
from views.attempts import Attempt
from views.prose import filled
from views.scene import Scene
from views.words import _


def committed(lesson: Lesson, question: str) -> bool:
    """Whether a guess has been made, or the learner has chosen to go on without one."""
    return attempts.last(lesson.slug, question) is not None


def ask_guess(lesson: Lesson, block: Block, values: Mapping[str, Value], *, runs: bool) -> Attempt | None:
    """Draw a guess that has not been made; gives it in the script run in which it is committed or passed over.

    `runs` says that a prompt waits for it, so that the buttons can say what happens next.
    """
    question = Question.of(block)
    with st.container(border=True, key=f"predict-{lesson.slug}-{question.id}"):
        st.markdown(filled(question.text, values))
        with (
            st.form(f"guess-{lesson.slug}-{question.id}", border=False),
            st.container(horizontal=True, vertical_alignment="bottom"),
        ):
            answer = _number(question, f"guess-box-{lesson.slug}-{question.id}")
            sure = st.form_submit_button(_("Guess and run") if runs else _("That is my guess"), type="primary")
            passed = st.form_submit_button(_("Run without a guess") if runs else _("Show it"), type="tertiary")
        if sure and answer is None:
            st.error(_("Type a number first. A wrong one is welcome: nobody sees it but you."))
        if passed or (sure and answer is not None):
            return attempts.keep(lesson.slug, question.id, None if passed else answer)
    return None


def show_comparison(lesson: Lesson, block: Block, scene: Scene) -> None:
    """The guess beside what happened, the text, and the card of the belief that a wrong guess shows."""
    predicted = lesson.find("predict", block.argument)
    if predicted is None:
        return
    question = Question.of(predicted)
    attempt = attempts.last(lesson.slug, question.id)
    guess = attempt.answer if attempt else None
    if not scene.whole:
        st.info(_("This run was cut short, so it does not answer the question. Run it again to the end."))
        return
    right = _value(question, scene.values)
    with st.grid(2, min_column_width=150):
        st.metric(_("You said"), _("no guess") if guess is None else f"{guess:,} {question.unit}", border=True)
        st.metric(_("The model ran"), f"{right:,} {question.unit}", border=True)
    if guess is not None:
        _judge(lesson, question, guess, scene.values)
    st.markdown(filled(block.body, scene.values))


def show_check(lesson: Lesson, block: Block, values: Mapping[str, Value]) -> None:
    """A question with one right answer, to be tried until it is found. A fragment."""
    st.fragment(_check, key=f"check-{lesson.slug}-{block.argument}-fragment")(lesson, block, values)


def _check(lesson: Lesson, block: Block, values: Mapping[str, Value]) -> None:
    question = Question.of(block)
    everything = {**values, **question.given}
    key = f"{lesson.slug}-{question.id}"
    with st.container(border=True, key=f"check-{key}"):
        st.markdown(filled(question.text, everything))
        with (
            st.form(f"check-form-{key}", border=False),
            st.container(horizontal=True, vertical_alignment="bottom"),
        ):
            answer = _number(question, f"check-box-{key}")
            sent = st.form_submit_button(_("Check"), type="primary")
        if sent and answer is None:
            st.error(_("Type a number first."))
        elif sent and answer is not None:
            attempts.keep(lesson.slug, question.id, answer, question.is_right(answer, everything))
        _show_verdict(lesson, question, everything)


def _show_verdict(lesson: Lesson, question: Question, values: Mapping[str, Value]) -> None:
    attempt = attempts.last(lesson.slug, question.id)
    if attempt is None or attempt.answer is None:
        return
    if attempt.right:
        st.success(f"**{attempt.answer:,}**. {filled(question.right, values)}", icon=":material/check:")
        return
    st.warning(f"**{attempt.answer:,}**. {filled(question.wrong, values)}", icon=":material/close:")
    _show_card(lesson, question.card_for(attempt.answer, values), values)


def _judge(lesson: Lesson, question: Question, guess: int, values: Mapping[str, Value]) -> None:
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
        st.markdown(filled(block.body, values))


def _number(question: Question, key: str) -> int | None:
    """A box that takes whole numbers within the question's limits and is empty at first."""
    return st.number_input(
        question.label, question.smallest, question.largest, value=None, step=1, key=key, width=180,
        persist_state="session", placeholder=question.unit,
    )  # fmt: skip


def _value(question: Question, values: Mapping[str, Value]) -> Value:
    try:
        return question.answer.evaluate({**values, **question.given})
    except ExpressionError:
        return None
