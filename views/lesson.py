"""Put a lesson on the page: its blocks in order, with what a guess keeps shut still shut.

What a person does in the picture, the trace or a check redraws only that: those are fragments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import streamlit as st

from lessons.code_source import SourceError, excerpt
from lessons.questions import Question
from lessons.structure import Block, Lesson
from views import attempts, presenting
from views.asking import (
    ask_for_run,
    begin_other,
    begin_pending,
    is_pending,
    pending_new_tokens,
    show_refusal,
    watch_other,
)
from views.course import show_neighbours
from views.instruments import show_instrument
from views.page_state import PageState
from views.picture import show_flipbook
from views.prose import filled, show_prose
from views.questions import ask_guess, committed, show_check, show_comparison
from views.scene import Scene, lesson_sampling, scene_of
from views.teaching import show_teaching
from views.words import _

DEPTHS = {"concept": _("In words"), "maths": _("In formulas"), "code": _("In code")}

ALWAYS_OPEN = frozenset({"notes", "sources"})
"""What stands at the end of a lesson whether or not its guess has been made."""


def show_lesson(lesson: Lesson) -> None:
    """Draw the whole lesson for the visitor's state."""
    page = PageState(lesson.slug, lesson_sampling(lesson))
    problems = page.open()
    _take_back_guesses(lesson, page)
    scene = scene_of(page, lesson.front.recording, lesson.front.other_recording)
    slides = presenting.slides_of(list(_depths_together(lesson.blocks)))
    match presenting.mode():
        case "stage":
            begin_other(lesson, scene)
            presenting.show_stage(lesson, slides, scene, lambda slide: _on_stage(lesson, slide, scene))
            watch_other(scene)
        case "notes":
            presenting.show_notes(lesson, slides, scene)
        case None:
            _head(lesson)
            for problem in problems:
                st.warning(problem)
            begin_other(lesson, scene)
            _to_read(lesson, scene)
            watch_other(scene)
            show_neighbours(lesson)


def _on_stage(lesson: Lesson, slide: list[list[Block]], scene: Scene) -> None:
    """The blocks of one slide; the answer to a run that still goes on waits for its end."""
    first = slide[0][0]
    if first.name == "screen" and _is_shut(lesson, first, scene):
        _say_when_it_opens(lesson, first)
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
                _say_when_it_opens(lesson, group[0])
        if not shut or name in ALWAYS_OPEN:
            show_group(lesson, group, scene)


def _take_back_guesses(lesson: Lesson, page: PageState) -> None:
    """After a reload, the guesses that the address remembers count as made."""
    for question, answer in page.link.guesses:
        block = lesson.find("predict", question)
        if block is None or committed(lesson, question):
            continue
        if answer is None or Question.of(block).accepts(answer):
            attempts.keep(lesson.slug, question, answer)


def _head(lesson: Lesson) -> None:
    about = _("Lesson {number}, about {minutes} minutes").format(number=lesson.number, minutes=lesson.front.minutes)
    st.title(lesson.front.title, anchor=False)
    st.markdown(f"**{lesson.front.question}**  :gray[:small[{about}]]")


def _guess(lesson: Lesson, block: Block, scene: Scene) -> None:
    """Asked at once, or, if the box leads to it, when a prompt waits for it or a run is in view already."""
    if not committed(lesson, block.argument):
        led_to = any(run.value("asks") == block.argument for run in lesson.named("run"))
        waiting = is_pending(scene.page)
        new_tokens = pending_new_tokens(scene.page) or scene.page.link.sampling.max_new_tokens
        asked = {**scene.values, "asked.new_tokens": new_tokens}
        due = not led_to or waiting or not scene.recorded
        if due and (attempt := ask_guess(lesson, block, asked, runs=waiting)):
            scene.page.keep_guess(attempt.question, attempt.answer)
            begin_pending(scene.page, lesson)
            st.rerun()
    show_refusal(scene.page)


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


def _say_when_it_opens(lesson: Lesson, screen: Block) -> None:
    if committed(lesson, screen.value("after") or ""):
        st.caption(_("What happened, and why, appears here when the run has ended."))
    elif lesson.named("run"):
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
    guesses = [one.argument for one in lesson.named("predict")]
    show_flipbook(scene, told=all(committed(lesson, one) for one in guesses))


def _words(block: Block, scene: Scene) -> None:
    if title := block.value("title"):
        st.header(title, anchor=block.argument)
    if block.body:
        show_prose(block.body, scene.values, scene.page.key(f"line-{block.line}"))


def _depths(blocks: list[Block], scene: Scene) -> None:
    """The same explanation in several depths, as tabs."""
    for tab, block in zip(st.tabs([DEPTHS[block.argument] for block in blocks]), blocks, strict=True):
        with tab:
            show_prose(block.body, scene.values, scene.page.key(f"line-{block.line}"))
            for reference in block.values("source"):
                _code(reference)


def _code(reference: str) -> None:
    try:
        shown = excerpt(reference)
    except (SourceError, OSError, SyntaxError):
        st.caption(_("This code is not here any more."))
        return
    st.caption(f"{shown.path}, {_('from line')} {shown.first_line}")
    st.code(shown.code, language="python")


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
    "compare": show_comparison,
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
