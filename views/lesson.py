"""Put a lesson on the page: its blocks in order, with what a guess keeps shut still shut.

What a person does in the picture, the trace or a check redraws only that: those are fragments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import streamlit as st

from lessons.catalogue import language_of
from lessons.code_source import SourceError, excerpt
from lessons.expressions import Value
from lessons.questions import Question
from lessons.structure import Block, Lesson
from views import attempts, class_here, presenting, readers
from views.asking import (
    ask_for_run,
    begin_other,
    begin_pending,
    is_pending,
    waiting,
    watch_runs,
)
from views.class_ballot import show_ballot
from views.class_join import show_seat
from views.class_panel import open_revealed, run_it_now, show_panel, show_result
from views.course import show_neighbours
from views.instruments import show_instrument
from views.page_state import PageState
from views.picture import show_flipbook
from views.prose import filled, show_prose
from views.questions import ask_guess, committed, show_check, show_comparison
from views.safe_text import plain
from views.scene import Scene, lesson_sampling, scene_of
from views.teaching import show_teaching
from views.words import LANGUAGES, N_, Words, _, language

DEPTHS = Words({"concept": N_("In words"), "maths": N_("In formulas"), "code": N_("In code")})

ALWAYS_OPEN = frozenset({"notes", "sources"})
"""What stands at the end of a lesson whether or not its guess has been made."""


def show_lesson(lesson: Lesson) -> None:
    """Draw the whole lesson for the visitor's state."""
    page = PageState(lesson.slug, lesson_sampling(lesson))
    problems = page.open()
    found = class_here.look(presented=presenting.mode() is not None)
    _take_back_guesses(lesson, page)
    readers.begin(page, lesson.blocks)
    scene = scene_of(page, lesson.front.recording, lesson.front.other_recording)
    slides = presenting.slides_of(list(_depths_together(lesson.blocks)))
    match presenting.mode():
        case "stage":
            if found is not None:
                open_revealed(lesson, scene, found)
            begin_other(lesson, scene)
            presenting.show_stage(lesson, slides, scene, lambda slide: _on_stage(lesson, slide, scene))
            watch_runs(scene)
        case "notes":
            presenting.show_notes(lesson, slides, scene)
        case None:
            _head(lesson)
            show_seat(found)
            for problem in problems:
                st.warning(problem)
            begin_other(lesson, scene)
            _to_read(lesson, scene)
            watch_runs(scene)
            show_neighbours(lesson)


def _on_stage(lesson: Lesson, slide: list[list[Block]], scene: Scene) -> None:
    """The blocks of one slide; the answer to a run that still goes on waits for its end."""
    first = slide[0][0]
    if first.name == "screen" and _is_shut(lesson, first, scene):
        _say_when_it_opens(lesson, first, scene)
        return
    for group in slide:
        show_group(lesson, group, scene)


def _to_read(lesson: Lesson, scene: Scene) -> None:
    """The whole lesson on one page, as far as it is open."""
    shut = False
    for group in _depths_together(lesson.blocks):
        name = group[0].name
        if name == "screen":
            was_shut, shut = shut, _is_shut(lesson, group[0], scene)
            if shut and not was_shut:
                _say_when_it_opens(lesson, group[0], scene)
        if not shut or name in ALWAYS_OPEN:
            show_group(lesson, group, scene)


def _take_back_guesses(lesson: Lesson, page: PageState) -> None:
    """After a reload, the guesses that the address remembers count as made."""
    for question, answer in page.link.guesses:
        block = lesson.find("predict", question)
        if block is None or attempts.last(lesson.slug, question) is not None:
            continue
        if answer is None or Question.of(block).accepts(answer):
            attempts.keep(lesson.slug, question, answer)


def _head(lesson: Lesson) -> None:
    about = _("Lesson {number}, about {minutes} minutes").format(number=lesson.number, minutes=lesson.front.minutes)
    st.title(lesson.front.title, anchor=False)
    st.markdown(f"**{lesson.front.question}**  :gray[:small[{about}]]")
    if language_of(lesson) in LANGUAGES and language_of(lesson) != language():
        st.caption(_("This lesson has not been translated yet, so here it is in English."))


def _guess(lesson: Lesson, block: Block, scene: Scene) -> None:
    """Asked at once, or, if the box leads to it, when a prompt waits for it or a run is in view already. In a class the
    vote stands in its place.
    """
    usual = {"asked.new_tokens": scene.page.link.sampling.max_new_tokens}
    asked = {**scene.values, **usual, **waiting(scene.page, lesson.front.model), **Question.of(block).given}
    if not _voted_on(lesson, block, scene, asked):
        _guess_alone(lesson, block, scene, asked)


def _voted_on(lesson: Lesson, block: Block, scene: Scene, asked: Mapping[str, Value]) -> bool:
    """Draw the question as the class has it, if it has."""
    found = class_here.here()
    if found is None or found.phase((lesson.slug, block.argument)) == "revealed":
        return False
    if found.seat is None:
        show_panel(lesson, block, scene, found, large=True)
        return True
    if waits := class_here.waits(lesson.slug, block.argument):
        show_ballot(lesson, block, asked, found)
        if is_pending(scene.page):
            st.caption(_("Your prompt runs when the answer is out."))
    return waits


def _guess_alone(lesson: Lesson, block: Block, scene: Scene, asked: Mapping[str, Value]) -> None:
    led_to = lesson.runs_after(block.argument)
    pending = is_pending(scene.page)
    if committed(lesson, block.argument):
        if led_to and run_it_now(lesson, block, scene):
            st.rerun()
        return
    due = not led_to or pending or not scene.recorded
    if due and (attempt := ask_guess(lesson, block, asked, runs=pending)):
        scene.page.keep_guess(attempt.question, attempt.answer)
        begin_pending(scene.page, lesson)
        st.rerun()


def _depths_together(blocks: Sequence[Block]) -> Iterator[list[Block]]:
    """Neighbouring `:::depth` blocks as one group, every other block alone."""
    group: list[Block] = []
    for block in blocks:
        if group and not (block.name == group[0].name == "depth"):
            yield group
            group = []
        group.append(block)
    if group:
        yield group


def _is_shut(lesson: Lesson, screen: Block, scene: Scene) -> bool:
    """A screen opens when its guess has been made and the runs in view, if the lesson has any, have ended."""
    after = screen.value("after")
    settled = scene.settled or not lesson.named("run")
    return after is not None and not (committed(lesson, after) and settled)


def _say_when_it_opens(lesson: Lesson, screen: Block, scene: Scene) -> None:
    after = screen.value("after") or ""
    if class_here.waits(lesson.slug, after):
        _in_class(lesson, after, scene)
    elif committed(lesson, after):
        st.caption(_("What happened, and why, appears here when the run has ended."))
    elif lesson.runs_after(after):
        st.caption(_("What happened, and why, appears here when you have made your guess and run it."))
    else:
        st.caption(_("The answer, and why, appears here when you have made your guess."))


def show_group(lesson: Lesson, group: list[Block], scene: Scene) -> None:
    """One block, or the depths of one explanation. What is not drawn where it stands, like a card, is passed over."""
    name = group[0].name
    if name == "depth":
        _depths(group, scene)
    elif name in _SHOWN:
        _SHOWN[name](lesson, group[0], scene)


def _picture(lesson: Lesson, _block: Block, scene: Scene) -> None:
    """The run in view; covered until the guess that it answers has been made, or every guess where none leads to it."""
    guesses = [one.argument for one in lesson.named("predict")]
    answered = [one for one in guesses if lesson.runs_after(one)] or guesses
    show_flipbook(scene, told=all(committed(lesson, one) for one in answered))


def _compared(lesson: Lesson, block: Block, scene: Scene) -> None:
    """On a teacher's stage the class has guessed, not the teacher, who turns the screens and may guess nothing."""
    found, predicted = class_here.here(), lesson.find("predict", block.argument)
    attempt = attempts.last(lesson.slug, block.argument)
    turned_past = presenting.mode() == "stage" and (attempt is None or attempt.answer is None)
    voted = found is not None and found.seat is None and found.phase((lesson.slug, block.argument)) == "revealed"
    if voted and found is not None and predicted is not None:
        show_result(lesson, predicted, scene, found, large=True)
    show_comparison(lesson, block, scene, own=not voted and not turned_past)


def _in_class(lesson: Lesson, question: str, scene: Scene) -> None:
    """In the place of an answer that the class still votes on: on the stage the votes, else what it waits for."""
    found, block = class_here.here(), lesson.find("predict", question)
    if found is not None and found.seat is None and block is not None:
        show_panel(lesson, block, scene, found, large=True)
    else:
        st.caption(_("What happened, and why, appears here when your teacher opens the answer."))


def _words(block: Block, scene: Scene) -> None:
    if title := block.value("title"):
        st.header(title, anchor=block.argument)
    if block.body:
        _prose(block, scene)


def _depths(blocks: list[Block], scene: Scene) -> None:
    """The same explanation in several depths, as tabs."""
    for tab, block in zip(st.tabs([DEPTHS[block.argument] for block in blocks]), blocks, strict=True):
        with tab:
            _prose(block, scene, "".join(map(_code, block.values("source"))))


def _prose(block: Block, scene: Scene, below: str = "") -> None:
    key = scene.page.key(f"line-{block.line}")
    readers.draw_reader(scene.page, block.body, lambda: show_prose(block.body, scene.values, key, below), key)


def _code(reference: str) -> str:
    """Markdown of a piece of source, and of where it stands."""
    try:
        shown = excerpt(reference)
    except (SourceError, OSError, SyntaxError):
        return f"\n\n:gray[:small[{_('This code is not here any more.')}]]"
    where = f"{plain(shown.path)}, {_('from line')} {shown.first_line}"
    return f"\n\n:gray[:small[{where}]]\n\n`````python\n{shown.code}\n`````"


def _instrument(name: str, block: Block, scene: Scene, key: str) -> None:
    settings = {setting.key: setting.value for setting in block.settings}
    show_instrument(name, scene, settings, key)


def _sources(_lesson: Lesson, block: Block, scene: Scene) -> None:
    with st.expander(_("Sources")):
        st.markdown(filled(block.body, scene.values))


_SHOWN: dict[str, Callable[[Lesson, Block, Scene], None]] = {
    "run": ask_for_run,
    "predict": _guess,
    "screen": lambda _lesson, block, scene: _words(block, scene),
    "prose": lambda _lesson, block, scene: _words(block, scene),
    "flipbook": _picture,
    "compare": _compared,
    "instrument": lambda _lesson, block, scene: _instrument(
        block.argument, block, scene, f"{scene.page.name}-{block.argument}-{block.line}"
    ),
    "metrics": lambda _lesson, block, scene: _instrument("metrics", block, scene, f"{scene.page.name}-metrics"),
    "figure": lambda _lesson, block, scene: _instrument(
        block.argument, block, scene, f"{scene.page.name}-{block.argument}"
    ),
    "trace": lambda _lesson, block, scene: _instrument("trace", block, scene, f"{scene.page.name}-trace"),
    "check": lambda lesson, block, scene: show_check(lesson, block, scene.values),
    "notes": lambda lesson, block, scene: show_teaching(lesson, block, scene),
    "sources": _sources,
}
