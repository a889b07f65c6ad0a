"""What stands around every instrument: its title, where its numbers come from, the same as a table, a link to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import streamlit as st

from lessons.expressions import Value
from lessons.instruments import INSTRUMENTS, prefix_of, published_kinds
from views.evidence import Evidence, evidence_row
from views.figure_style import Drawn, show
from views.numbers_table import numbers_table
from views.readers import are_following
from views.scene import Scene
from views.site import LAB, lab_page
from views.words import _


@dataclass(frozen=True)
class Frame:
    """What is said around an instrument that is not a Plotly figure."""

    title: str
    evidence: Evidence
    how: str
    """Markdown: how its numbers were made."""
    table: Mapping[str, Sequence[Any]]
    """The same numbers as columns."""


@contextmanager
def framed(frame: Frame, name: str, scene: Scene, settings: Mapping[str, str], key: str) -> Iterator[None]:
    """Draw whatever the `with` block draws between the title and the evidence, table and link."""
    st.subheader(frame.title, anchor=False)
    yield
    evidence_row(frame.evidence, frame.how, key=key)
    numbers_table(frame.table, key=key)
    link_to(name, scene, settings)


def show_drawn(drawn: Drawn, name: str, scene: Scene, settings: Mapping[str, str], key: str) -> None:
    """A Plotly figure, which brings what the frame says with it, and the link."""
    show(drawn, key=key)
    link_to(name, scene, settings)


def link_to(name: str, scene: Scene, settings: Mapping[str, str]) -> None:
    """The instrument's own address, in the Lab, with the settings and the run that it shows now."""
    if not INSTRUMENTS[name].in_lab:
        return
    run = {"run": scene.run_id} if scene.run_id and INSTRUMENTS[name].needs_run else {}
    label = _("A link to this instrument") if scene.page.name == LAB else _("Open it in the Lab")
    query = {"instrument": name, **settings, **run}
    st.page_link(lab_page(), label=label, icon=":material/link:", query_params=query)


def publish(scene: Scene, name: str, results: Mapping[str, Value]) -> None:
    """Give results to the prose and the questions that stand after the instrument: `{"ratio": 3.2}` -> what_if.ratio.
    Where it is drawn again alone and says something else now, the whole page is drawn, unless what reads it is about to
    be (see `readers`); the Lab has no prose.

    Raises ValueError for a result that lessons.instruments does not name.
    """
    named = {f"{prefix_of(name)}.{what}": value for what, value in results.items()}
    if unknown := set(named) - set(published_kinds(name)):
        raise ValueError(f"{name} does not publish {', '.join(sorted(unknown))}")
    scene.publish(named)
    if scene.said is None or scene.page.name == LAB:
        return
    following = are_following(scene.page, name)
    if not following and any(scene.said.get(one, value) != value for one, value in named.items()):
        st.rerun()
    scene.said.update(named)
