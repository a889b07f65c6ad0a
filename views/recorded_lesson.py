"""A lesson with its recordings instead of a live run: what an answer key and a handout are made from."""

from __future__ import annotations

from dataclasses import dataclass

from engine.account.record import Run
from engine.account.record_file import RecordError
from lessons import catalogue
from lessons.expressions import Value
from lessons.instruments import INSTRUMENTS, published_kinds
from lessons.named_shapes import named_values
from lessons.run_values import other_values_of, values_of
from lessons.structure import Lesson


@dataclass(frozen=True)
class RecordedLesson:
    """`run` None: the lesson has no recording, or it cannot be read. What only an instrument knows is None."""

    lesson: Lesson
    run: Run | None
    other: Run | None
    values: dict[str, Value]

    @classmethod
    def of(cls, lesson: Lesson) -> RecordedLesson:
        """Read the lesson's recordings."""
        run, other = _recording(lesson.front.recording), _recording(lesson.front.other_recording)
        unpublished = {name: None for instrument in INSTRUMENTS for name in published_kinds(instrument)}
        of_runs = {**(values_of(run) if run else {}), **other_values_of(other, run)}
        return cls(lesson, run, other, {**named_values(), **unpublished, **of_runs})


def _recording(name: str) -> Run | None:
    try:
        return catalogue.recording(name) if name else None
    except (OSError, RecordError):
        return None
