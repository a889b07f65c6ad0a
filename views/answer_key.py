"""The answer key of a lesson as Markdown: what is right in its recording, which beliefs lead elsewhere, and the notes.

No secret: all of it stands in the lesson's file. `python -m lessons key` writes it, the lesson page shows it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from lessons.catalogue import language_of
from lessons.expressions import ExpressionError, Value
from lessons.filters import write
from lessons.questions import Near, Question, Right, Source
from lessons.structure import Block, Lesson
from views.evidence import source_line
from views.prose import filled
from views.questions import written_answer
from views.recorded_lesson import RecordedLesson
from views.words import _, speaking_as


def course_key(lessons: Sequence[Lesson]) -> str:
    """The keys of several lessons, one after another."""
    return "\n\n".join(lesson_key(lesson) for lesson in lessons)


def lesson_key(lesson: Lesson) -> str:
    """The key of one lesson with a heading, for a file of its own, in the lesson's language."""
    with speaking_as(language_of(lesson)):
        return _lesson_key(lesson)


def _lesson_key(lesson: Lesson) -> str:
    title = _("Lesson {number}: {title}").format(number=lesson.number, title=lesson.front.title)
    notes = [filled(block.body, RecordedLesson.of(lesson).values) for block in lesson.named("notes")]
    parts = [f"# {title}", f"*{lesson.front.question}*", answers(lesson)]
    if notes:
        parts += ["## " + _("Notes for teachers"), *notes]
    return "\n\n".join(parts) + "\n"


def answers(lesson: Lesson) -> str:
    """Every guess and check in order, then the cards."""
    recorded = RecordedLesson.of(lesson)
    parts = [_recording_line(recorded)] if recorded.run else []
    for block in lesson.blocks:
        if block.name in ("predict", "check"):
            parts.append("## " + "\n\n".join(_question(block, recorded)))
    cards = lesson.named("card")
    if cards:
        parts += ["## " + _("Cards"), *(_card(card, recorded.values) for card in cards)]
    return "\n\n".join(parts)


def _recording_line(recorded: RecordedLesson) -> str:
    assert recorded.run is not None
    source = source_line(recorded.run, recorded=True)
    return _("Answers that depend on a run are those of the lesson's recording: {source}.").format(source=source)


def _question(block: Block, recorded: RecordedLesson) -> Iterator[str]:
    question = Question.of(block)
    values = {**recorded.values, **question.given}
    kind = _("Guess") if block.name == "predict" else _("Check question")
    yield f"{kind}: {question.id}"
    yield filled(question.text, values)
    if question.options:
        yield "\n".join(f"- {filled(option, values)}" for option in question.options.values())
    yield _right(question, values)
    wrong = [_belief(near, question, recorded.lesson, values) for near in question.near]
    if wrong:
        yield _("Wrong beliefs, and the card that answers each:") + "\n\n" + "\n".join(wrong)


def _right(question: Question, values: Mapping[str, Value]) -> str:
    right = _("**Right: {answer}**").format(answer=right_answer(question, values))
    if not isinstance(question.answer, str):
        right += f" (`{question.answer.source}`{_tolerance(question)})"
    return f"{right}. {filled(question.right, values)}".rstrip()


def _tolerance(question: Question) -> str:
    within = question.tolerance
    if within.share:
        return _(", within {share} %").format(share=write(within.share * 100, ()))
    return _(", within {amount}").format(amount=write(within.amount, ())) if within.amount else ""


def _belief(near: Near, question: Question, lesson: Lesson, values: Mapping[str, Value]) -> str:
    card = lesson.find("card", near.card)
    title = filled(card.value("title") or near.card, values) if card else near.card
    source = "" if isinstance(near.value, str) else f" (`{near.value.source}`)"
    return f"- {_answer(near.value, question, values)}{source}: {title}"


def right_answer(question: Question, values: Mapping[str, Value]) -> str:
    """Markdown: the right answer, or that only a run or an instrument on the page can tell it."""
    return _answer(question.answer, question, {**values, **question.given})


def _answer(answer: Source, question: Question, values: Mapping[str, Value]) -> str:
    try:
        value: Right = answer if isinstance(answer, str) else answer.evaluate(values)
    except ExpressionError:
        value = None
    return _("told on the page") if value is None else written_answer(question, value, values)


def _card(card: Block, values: Mapping[str, Value]) -> str:
    return f"**{filled(card.value('title') or '', values)}** {filled(card.body, values)}"
