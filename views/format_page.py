"""How lessons are written: every directive of one small lesson as its source and as it works, then the tables.

What is said here comes from the tables that the checker checks against, and the lesson is a file that it has checked.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

import pandas as pd
import streamlit as st

from lessons import catalogue
from lessons.directives import DIRECTIVES, Directive
from lessons.filters import FILTERS
from lessons.instruments import INSTRUMENTS
from lessons.parse import read_lesson
from lessons.structure import Block, Lesson
from views.lesson import show_group
from views.page_state import PageState
from views.questions import committed
from views.scene import lesson_sampling, scene_of
from views.words import _

EXAMPLE = catalogue.HOME / "format" / "01-every-directive.md"


def show_format() -> None:
    """Draw the page."""
    lesson = read_lesson(EXAMPLE)
    page = PageState(lesson.slug, lesson_sampling(lesson))
    page.open()
    scene = scene_of(page, lesson.front.recording)
    st.title(_("How a lesson is written"), anchor=False)
    st.markdown(
        _(
            "A lesson is one Markdown file, lessons/en/NN-some-words.md. The commands `python -m lessons check` and "
            "`python -m lessons preview FILE` say what is wrong in it and show it while you write. Here is a small "
            "lesson with every directive, each as its source and then as it works."
        )
    )
    lines = EXAMPLE.read_text(encoding="utf-8").splitlines()
    st.header(_("Front matter"), anchor="front-matter")
    st.code("\n".join(lines[: lesson.blocks[0].line - 2]), language=None, wrap_lines=True)
    for group, source in _groups(lesson, lines):
        name = group[0].name
        st.header(f":::{name} {group[0].argument}" if name in DIRECTIVES else _("Text"), anchor=f"line-{group[0].line}")
        if name in DIRECTIVES:
            st.markdown(_rules(DIRECTIVES[name]))
        st.code(source, language=None, wrap_lines=True)
        if told := _elsewhere(lesson, group[0]):
            st.caption(told)
            continue
        with st.container(border=True, key=f"format-line-{group[0].line}"):
            show_group(lesson, group, scene)
    _filters()
    _instruments()


def _groups(lesson: Lesson, lines: list[str]) -> Iterator[tuple[list[Block], str]]:
    """The blocks in order with their source; the depths of one explanation, and all cards, together."""
    ends = {one.line: after.line for one, after in zip(lesson.blocks, lesson.blocks[1:], strict=False)}
    together = {"depth", "card"}
    for _key, found in groupby(lesson.blocks, lambda one: one.name if one.name in together else one.line):
        group = list(found)
        yield group, "\n".join(lines[group[0].line - 1 : ends.get(group[-1].line, len(lines) + 1) - 1]).strip()


def _elsewhere(lesson: Lesson, block: Block) -> str | None:
    """Of what does not stand where it is written, where it is seen."""
    if block.name == "card":
        return _("Seen at the question that names it, after an answer that comes near its belief.")
    if block.name == "predict" and committed(lesson, block.argument):
        return _("Answered: the guess stands beside what happened, further down.")
    return None


def _rules(directive: Directive) -> str:
    """Purpose, argument and settings of a directive, from the checker's table."""
    told = [_(directive.purpose)]
    if directive.argument == "id":
        told.append(_("After the name stands an id."))
    elif directive.argument == "choice" and len(directive.choices) <= 4:
        told.append(_("After the name: {choices}.").format(choices=_listed(directive.choices)))
    if directive.settings:
        told.append(_("Settings: {names}.").format(names=_listed(sorted(directive.settings))))
    if directive.required:
        told.append(_("Must be there: {names}.").format(names=_listed(sorted(directive.required))))
    return " ".join(told)


def _listed(names: list[str] | tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _filters() -> None:
    st.header(_("Filters"), anchor="filters")
    st.markdown(_("`{{ expression | filter }}` writes a value. A filter fits some kinds of value and no others."))
    rows = [(name, ", ".join(sorted(rule.kinds)), rule.n_words) for name, rule in FILTERS.items()]
    st.dataframe(pd.DataFrame(rows, columns=[_("filter"), _("for"), _("words after it")]), hide_index=True)


def _instruments() -> None:
    st.header(_("Instruments"), anchor="instruments")
    st.markdown(_("`:::instrument NAME`. A setting must match its pattern; what it publishes is a name in prose."))
    columns = [_("name"), _("what it shows"), _("settings"), _("publishes")]
    rows = [
        (
            name,
            _(one.purpose),
            "\n".join(f"{key}: {form}" for key, form in one.settings.items()),
            ", ".join(one.publishes),
        )
        for name, one in INSTRUMENTS.items()
    ]
    st.dataframe(pd.DataFrame(rows, columns=columns), hide_index=True)
