"""What is on a page now: the run in view, where it came from, and the values that its prose may use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import streamlit as st

from engine.account.record import End, Run, Sampling
from engine.account.record_file import RecordError
from lessons import catalogue
from lessons.expressions import Value
from lessons.instruments import INSTRUMENTS, published_kinds
from lessons.named_shapes import named_values
from lessons.run_values import other_values_of, values_of
from lessons.serving import sampling_of
from lessons.structure import Lesson
from views.engine_calls import find_run
from views.page_state import PageState
from views.words import _


@dataclass(frozen=True)
class Scene:
    """The run in view, and the recording that stands in where there is none.

    `run_id` None: the recording is in view. `run` None: there is nothing to show, and `problem` says why.
    """

    page: PageState
    recording: str
    run: Run | None
    run_id: str | None = None
    problem: str | None = None
    other_run: Run | None = None
    """The second run of a lesson that compares two, as far as it goes."""
    other_due: bool = False
    """Whether the second run is still to begin, when the first has ended."""
    said: dict[str, Value] | None = field(default=None, compare=False)
    """For one instrument: what it has told the page that was drawn around it."""

    @property
    def recorded(self) -> bool:
        """Whether the run in view is a recording."""
        return self.run_id is None

    @property
    def ended(self) -> bool:
        """Whether nothing more will come."""
        return self.run is not None and self.run.end is not None

    @property
    def settled(self) -> bool:
        """Whether nothing more will come of the second run either, where there is one."""
        other_ended = self.other_run is None or self.other_run.end is not None
        return self.ended and not self.other_due and other_ended

    @property
    def running(self) -> bool:
        """Whether a live run is in view that still goes on."""
        return self.run_id is not None and not self.ended

    @property
    def whole(self) -> bool:
        """Whether the run went to its own end, so that it can answer a question about it."""
        return self.run is not None and isinstance(self.run.end, End) and self.run.end.reason != "cancelled"

    @property
    def values(self) -> dict[str, Value]:
        """The values of the runs in view, of shapes and machines, and of what the instruments have published so far."""
        published: dict[str, Value] = st.session_state.get(self.page.key("published"), {})
        return {**self._fixed_values, **published}

    def publish(self, named: Mapping[str, Value]) -> None:
        """Keep an instrument's results for what stands after it on the page."""
        st.session_state.setdefault(self.page.key("published"), {}).update(named)

    @cached_property
    def _fixed_values(self) -> dict[str, Value]:
        unpublished = {name: None for instrument in INSTRUMENTS for name in published_kinds(instrument)}
        of_runs = {**(values_of(self.run) if self.run else {}), **other_values_of(self.other_run, self.run)}
        return {**named_values(), **unpublished, **of_runs}


@dataclass
class SceneOnce:
    """A page's scene for one of its fragments: the fragment is drawn with the page from it, and looks anew later."""

    scene: Scene | None

    def take(self) -> Scene | None:
        """The scene while the page is drawn; None when the fragment runs again by itself."""
        scene, self.scene = self.scene, None
        return scene


OTHER_DUE = "other_due"
"""Session key of a page whose second run begins when the first has ended."""


def scene_of(page: PageState, recording: str, other_recording: str = "") -> Scene:
    """The page's live run if it has one that can be read, else the recording of that name; the second run likewise.

    A page without a recording, which asks for no run, has nothing in view, and that is no problem.
    """
    problem = None
    if page.link.run is not None:
        found = find_run(page.link.run)
        if found.run is not None:
            due = bool(st.session_state.get(page.key(OTHER_DUE)))
            other = find_run(page.link.other).run if page.link.other else None
            return Scene(page, recording, found.run, page.link.run, other_run=other, other_due=due)
        problem = found.problem
    if not recording:
        return Scene(page, recording, None, problem=problem)
    try:
        other = catalogue.recording(other_recording) if other_recording else None
        return Scene(page, recording, catalogue.recording(recording), problem=problem, other_run=other)
    except (OSError, RecordError):
        return Scene(page, recording, None, problem=problem or _("The recorded example cannot be read."))


def lesson_sampling(lesson: Lesson) -> Sampling:
    """How a lesson runs: greedy, and without an end-of-text stop, unless its front matter says otherwise."""
    return sampling_of(lesson.front)
