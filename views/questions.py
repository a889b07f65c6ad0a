"""Questions on a page: a guess before the run, the guess beside what happened, and a check at the end."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext

import streamlit as st

from lessons.expressions import ExpressionError, Value
from lessons.filters import UNKNOWN, write
from lessons.questions import Answer, Question
from lessons.structure import Block, Lesson
from views import attempts, class_here
from views.attempts import Attempt
from views.cards import Card, show_cards
from views.prose import filled, show_prose
from views.scene import Scene
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
        with st.form(f"guess-{lesson.slug}-{question.id}", border=False), answer_row(question):
            answer = answer_box(question, f"guess-box-{lesson.slug}-{question.id}", values)
            with st.container(horizontal=True) if question.options else nullcontext():
                sure = st.form_submit_button(_("Guess and run") if runs else _("That is my guess"), type="primary")
                passed = st.form_submit_button(_("Run without a guess") if runs else _("Show it"), type="tertiary")
        if sure and answer is None:
            first = _("Choose one first.") if question.options else _("Type a number first.")
            st.error(first + " " + _("A wrong one is welcome: nobody sees it but you."))
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
    attempt = attempts.last(lesson.slug, question.id)
    guess = attempt.answer if attempt else None
    if asks_the_run(question) and not scene.whole:
        st.info(_("This run was cut short, so it does not answer the question. Run it again to the end."))
        return
    values = scene.values
    right = right_value(question, values)
    ran = _card(question.outcome or _("The model ran"), question, right, values, otherwise=_(UNKNOWN))
    show_cards([_card(_("You said"), question, guess, values, otherwise=_("no guess")), ran] if own else [ran], most=2)
    if guess is not None and right is not None:
        _judge(lesson, question, guess, values)
    show_prose(block.body, values, f"{lesson.slug}-compare-{question.id}")


def asks_the_run(question: Question) -> bool:
    """Whether the right answer comes out of a run, and not of a formula or an instrument."""
    return any(name.startswith(("run.", "other.", "asked.")) for name in question.names)


def _card(label: str, question: Question, value: Value, values: Mapping[str, Value], otherwise: str) -> Card:
    """One of two values to compare. An option's words may be long: they stand in the size of what is read."""
    shown = otherwise if value is None else written_answer(question, value, values)
    return Card(label, None, words=shown) if question.options else Card(label, shown)


def written_answer(question: Question, value: Value, values: Mapping[str, Value]) -> str:
    """An answer as a person reads it: the option's words, or the number with its unit."""
    if isinstance(value, str):
        return filled(question.options.get(value, value), values)
    return f"{write(value, ())} {question.unit}".strip()


def show_check(lesson: Lesson, block: Block, values: Mapping[str, Value]) -> None:
    """A question with one right answer, to be tried until it is found. A fragment."""
    st.fragment(_check, key=f"check-{lesson.slug}-{block.argument}-fragment")(lesson, block, values)


def _check(lesson: Lesson, block: Block, values: Mapping[str, Value]) -> None:
    question = Question.of(block)
    everything = {**values, **question.given}
    key = f"{lesson.slug}-{question.id}"
    with st.container(border=True, key=f"check-{key}"):
        show_prose(question.text, everything, key)
        with st.form(f"check-form-{key}", border=False), answer_row(question):
            answer = answer_box(question, f"check-box-{key}", everything)
            sent = st.form_submit_button(_("Check"), type="primary")
        if sent and answer is None:
            st.error(_("Choose one first.") if question.options else _("Type a number first."))
        elif sent and answer is not None:
            attempts.keep(lesson.slug, question.id, answer, question.is_right(answer, everything))
        _show_verdict(lesson, question, everything)


def _show_verdict(lesson: Lesson, question: Question, values: Mapping[str, Value]) -> None:
    attempt = attempts.last(lesson.slug, question.id)
    if attempt is None or attempt.answer is None:
        return
    said = f"“{written_answer(question, attempt.answer, values)}”" if question.options else f"**{attempt.answer:,}**."
    if attempt.right:
        st.success(f"{said} {filled(question.right, values)}", icon=":material/check:")
    else:
        st.warning(f"{said} {filled(question.wrong, values)}", icon=":material/close:")
    # A place that is emptied in so many words: left to Streamlit's own clearing, the card of a belief once stayed
    # beside the right answer when another rerun of the page crossed the fragment's.
    beside = st.empty()
    if not attempt.right:
        with beside.container():
            _show_card(lesson, question.card_for(attempt.answer, values), values)


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
    """A number's box and its buttons stand on one line, options one under the other."""
    return nullcontext() if question.options else st.container(horizontal=True, vertical_alignment="bottom")


def answer_box(question: Question, key: str, values: Mapping[str, Value]) -> Answer | None:
    """The options, or a box that takes numbers within the question's limits; nothing is chosen at first."""
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


def right_value(question: Question, values: Mapping[str, Value]) -> Value:
    """What is right for these values; None where that is not known here."""
    try:
        return question.right_value(values)
    except ExpressionError:
        return None
