"""Which run is meant: a kept one by its id, an example by its name, an opened file by its place in the session.

run=0f3c…            a run of this server; whoever knows its id may open it
run=example.NAME     a recording that a lesson uses
run=file.NAME        a file that this session has opened
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from engine.account import any_record
from engine.account.outside_record import AnyRun, OutsideRun
from engine.account.record_file import RecordError
from engine.serve.client import RUN_ID
from lessons import catalogue
from views.conditions import Condition, condition
from views.engine_calls import find_run
from views.engine_link import engine_link
from views.evidence import Evidence, source_line, timing_evidence
from views.open_file import opened
from views.outside_runs import outside_runs
from views.safe_text import code_span
from views.words import _

Origin = Literal["kept", "example", "file"]

_EXAMPLE = re.compile(r"example\.([A-Za-z0-9_-]{1,80})")
_FILE = re.compile(r"file\.([0-9a-f]{12})")


@dataclass(frozen=True)
class Chosen:
    """A run, how to ask for it again, and where it was found."""

    ref: str
    run: AnyRun
    origin: Origin

    @property
    def evidence(self) -> Evidence:
        """What its times are."""
        if isinstance(self.run, OutsideRun):
            return "outside"
        if self.origin == "file" and self.run.header.evidence == "measured":
            return "elsewhere"
        return timing_evidence(self.run, recorded=self.origin == "example")

    @property
    def condition(self) -> Condition | None:
        """Whether it had its engine to itself; None where that cannot be known."""
        return None if isinstance(self.run, OutsideRun) else condition(self.run)

    @property
    def source(self) -> str:
        """Markdown: on what, and when."""
        header = self.run.header
        if isinstance(self.run, OutsideRun):
            return _("{model} at {server}, on {day}").format(
                model=code_span(self.run.header.model),
                server=code_span(self.run.header.server),
                day=code_span(header.created[:10]),
            )
        return source_line(self.run, recorded=True)


def find(ref: str) -> Chosen | str:
    """The run that is meant; or in plain words why there is none."""
    if match := _EXAMPLE.fullmatch(ref):
        run = example(match[1])
        return Chosen(ref, run, "example") if run else _("There is no example of that name.")
    if match := _FILE.fullmatch(ref):
        file = opened().get(match[1])
        if file is None:
            return _("This file is not open any more: a file stays in the session that opened it. Open it again.")
        return Chosen(ref, file, "file")
    if not RUN_ID.fullmatch(ref):
        return _("The link does not name a run.")
    return _kept(ref)


def example(name: str) -> AnyRun | None:
    """A lesson's recording; None if there is none that can be read."""
    try:
        return catalogue.recording(name)
    except (OSError, RecordError):
        return None


def example_refs() -> list[str]:
    """Every recording of the lessons, in the order of the course."""
    names = [path.stem for path in sorted(catalogue.RECORDINGS.glob("*.json"))]
    return [f"example.{name}" for name in sorted(names, key=lambda name: (not lessons_of(name), lessons_of(name)))]


def lessons_of(name: str) -> list[int]:
    """The numbers of the lessons that show a recording."""
    every = catalogue.lessons()
    return [one.number for one in every if name in (one.front.recording, one.front.other_recording)]


def file_refs() -> list[str]:
    """Every file that is open in this session, the latest first."""
    return [f"file.{name}" for name in reversed(opened())]


def _kept(run_id: str) -> Chosen | str:
    outside = outside_runs()
    live = outside.run(run_id) if outside else None
    if live is not None and not engine_link().hubs.is_deleted(run_id):
        return Chosen(run_id, live, "kept")
    record = engine_link().store.load(run_id)
    if record is not None and any_record.is_from_outside(record):
        try:
            return Chosen(run_id, any_record.loads(record), "kept")
        except RecordError as error:
            return str(error)
    found = find_run(run_id)
    return Chosen(run_id, found.run, "kept") if found.run else found.problem or ""
