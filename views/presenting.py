"""A lesson for a projector: `?present=1` one screen at a time, `&lock=1` without controls, `?present=notes` the notes.

Going on to what a guess keeps shut counts as going on without a guess: on a stage, the speaker opens the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import streamlit as st

from lessons.instruments import published_kinds
from lessons.structure import Block, Lesson
from views import attempts, class_here
from views.answer_key import answers
from views.class_panel import show_panels
from views.presenter import Slides, presenter
from views.prose import filled
from views.questions import committed
from views.scene import Scene
from views.words import _

Mode = Literal["stage", "notes"]
Group = list[Block]

_LEFT_OUT = frozenset({"notes", "sources", "card"})

# Everything on a page is measured in rem, so one size enlarges it all; the bar at the foot must cover nothing.
_LARGE = """
<style>
html { font-size: clamp(18px, 1.65vw, 34px) !important; --ts-foot: 2.8rem; }
[data-testid=stHeader] { display: none; }
[data-testid=stMainBlockContainer] { padding-top: 1.5rem; padding-bottom: 5rem; }
[data-testid=stForm] [data-testid=stElementContainer]:has(> [data-testid=stNumberInput]) { min-width: 12rem; }
html[data-ts-blank] [data-testid=stMain] :is(%(texts)s),
html[data-ts-blank] [data-testid=stMain] :is(%(texts)s) * { visibility: hidden; }
</style>
"""
_TEXTS = (
    "[data-testid=stMarkdown], [data-testid=stHeading], [data-testid=stCaptionContainer], [data-testid=stMetric], "
    "[data-testid=stAlert], [data-testid=stExpander], [data-testid=stTabs], [data-testid=stForm], "
    "[data-testid=stButton], [data-testid=stPopover], [data-testid=stPageLink], [data-testid=stCode], "
    "[data-testid=stHtml]"
)
_LOCKED = """
<style>
:is([data-testid=stForm], [data-testid=stButton], [data-testid=stPopover], .ts-popover, [data-testid=stPageLink],
  [data-testid=stExpander], [data-testid=stSelectbox], [data-testid=stSlider], [data-testid=stNumberInput],
  [data-testid=stRadio], [data-testid=stCheckbox], [data-testid=stDownloadButton]) { display: none; }
</style>
"""


def mode() -> Mode | None:
    """How the address asks for the lesson; None: as a page to read."""
    asked = st.query_params.get("present")
    return "stage" if asked == "1" else "notes" if asked == "notes" else None


def is_locked() -> bool:
    """Whether the address hides the controls."""
    return st.query_params.get("lock") == "1"


def enlarge() -> None:
    """Large type, and no controls where the address hides them."""
    st.html(_LARGE % {"texts": _TEXTS} + (_LOCKED if is_locked() else ""))


def slides_of(groups: Sequence[Group]) -> list[list[Group]]:
    """The lesson's screens, each with the blocks that belong to it; what is for reading alone is left out."""
    slides: list[list[Group]] = []
    for group in groups:
        if group[0].name in _LEFT_OUT:
            continue
        if group[0].name == "screen" or not slides:
            slides.append([])
        slides[-1].append(group)
    return slides


def show_stage(lesson: Lesson, slides: list[list[Group]], scene: Scene, draw: Callable[[list[Group]], None]) -> None:
    """One screen in large type, and the bar."""
    number = _slide(len(slides))
    enlarge()
    groups = slides[number - 1]
    _open(lesson, groups[0][0])
    if number == 1:
        st.title(lesson.front.title, anchor=False)
        st.markdown(f"**{lesson.front.question}**")
    _publish_earlier([group for slide in slides[: number - 1] for group in slide], scene, draw)
    with st.container(key=f"slide-{lesson.slug}-{number}"):
        draw(groups)
    found = class_here.here()
    about = {"class": found.one.code} if found else {}
    wanted = presenter("stage", Slides(lesson.slug, number, titles_of(lesson, slides), is_locked(), about))
    if wanted is not None and wanted != number:
        st.query_params["slide"] = str(wanted)
        st.rerun()


def _publish_earlier(groups: list[Group], scene: Scene, draw: Callable[[list[Group]], None]) -> None:
    """After a reload in the middle, the prose of this slide may need results of instruments on slides before it."""
    place = st.empty()
    for group in groups:
        named = published_kinds(group[0].argument) if group[0].name == "instrument" else {}
        if named and all(scene.values.get(name) is None for name in named):
            with place.container():
                draw([group])
    place.empty()


def show_notes(lesson: Lesson, slides: list[list[Group]], scene: Scene) -> None:
    """The speaker's own window: where the stage is, the notes, and the answers."""
    st.title(_("Notes: {title}").format(title=lesson.front.title), anchor=False)
    presenter("notes", Slides(lesson.slug, 1, titles_of(lesson, slides)))
    st.caption(_("This window moves the one that presents, in the same browser: by the buttons, the arrow keys and B."))
    if (found := class_here.here()) is not None:
        show_panels(lesson, scene, found)
    for block in lesson.named("notes"):
        st.markdown(filled(block.body, scene.values))
    st.markdown(answers(lesson))


def titles_of(lesson: Lesson, slides: list[list[Group]]) -> list[str]:
    """What each slide is called; the first is the lesson's question."""
    first = lesson.front.question
    return [first, *(groups[0][0].value("title") or groups[0][0].argument for groups in slides[1:])]


def _slide(n_slides: int) -> int:
    """The slide in the address, within what there is."""
    asked = st.query_params.get("slide", "1")
    return min(int(asked), n_slides) if asked.isascii() and asked.isdecimal() and 0 < int(asked) < 1000 else 1


def _open(lesson: Lesson, screen: Block) -> None:
    """The speaker has come to an answer: who has not guessed by now goes on without."""
    after = screen.value("after") if screen.name == "screen" else None
    if after is not None and not committed(lesson, after) and not class_here.waits(lesson.slug, after):
        attempts.keep(lesson.slug, after, None)
