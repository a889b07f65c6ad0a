"""What is on a page now: the run in view, where it came from, and the values that its prose may use."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from engine.account.record import End, Run, Sampling
from engine.account.record_file import RecordError
from lessons import catalogue
from lessons.expressions import Value
from lessons.run_values import values_of
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

    @property
    def recorded(self) -> bool:
        """Whether the run in view is a recording."""
        return self.run_id is None

    @property
    def ended(self) -> bool:
        """Whether nothing more will come."""
        return self.run is not None and self.run.end is not None

    @property
    def running(self) -> bool:
        """Whether a live run is in view that still goes on."""
        return self.run_id is not None and not self.ended

    @property
    def whole(self) -> bool:
        """Whether the run went to its own end, so that it can answer a question about it."""
        return self.run is not None and isinstance(self.run.end, End) and self.run.end.reason != "cancelled"

    @cached_property
    def values(self) -> dict[str, Value]:
        """The values of the run in view, for expressions."""
        return values_of(self.run) if self.run is not None else {}


def scene_of(page: PageState, recording: str) -> Scene:
    """The page's live run if it has one that can be read, else the recording of that name."""
    problem = None
    if page.link.run is not None:
        found = find_run(page.link.run)
        if found.run is not None:
            return Scene(page, recording, found.run, page.link.run)
        problem = found.problem
    try:
        return Scene(page, recording, catalogue.recording(recording), problem=problem)
    except (OSError, RecordError):
        return Scene(page, recording, None, problem=problem or _("The recorded example cannot be read."))


def lesson_sampling(lesson: Lesson) -> Sampling:
    """How a lesson runs: greedy, and without an end-of-text stop, so that counts do not depend on the story."""
    return Sampling(max_new_tokens=lesson.front.new_tokens, ignore_eos=True)
