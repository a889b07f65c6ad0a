"""A visitor's answers and runs as files: JSON with everything, CSV with a row an answer or a run.

Schema `twospeeds.work/1`: {"schema", "exported", "answers": [...], "runs": [whole records, schema twospeeds.run/1]}.
Times in tables are nanoseconds from the request's arrival, as in the records; what is not known is blank.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

import msgspec

from engine.account.metrics import timings
from engine.account.record import Run
from engine.account.record_file import dumps
from lessons.questions import Question
from lessons.structure import Lesson
from views.attempt_store import Attempt

SCHEMA = "twospeeds.work/1"

_STARTS_A_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def work_json(answers: Sequence[Attempt], runs: Sequence[Run], lessons: Iterable[Lesson]) -> bytes:
    """Everything in one JSON document."""
    return msgspec.json.format(
        msgspec.json.encode(
            {
                "schema": SCHEMA,
                "exported": datetime.now(UTC).isoformat(timespec="seconds"),
                "answers": answer_rows(answers, lessons),
                "runs": [msgspec.Raw(dumps(run)) for run in runs],
            }
        )
    )


def answers_csv(answers: Sequence[Attempt], lessons: Iterable[Lesson]) -> str:
    """A row an answer."""
    return _csv(ANSWER_COLUMNS, answer_rows(answers, lessons))


def runs_csv(runs: Sequence[Run]) -> str:
    """A row a run."""
    return _csv(RUN_COLUMNS, [_run_row(run) for run in runs])


ANSWER_COLUMNS = ("at", "lesson", "lesson_title", "question", "kind", "answer", "unit", "right")
RUN_COLUMNS = (
    "run_id", "created", "model", "device", "evidence", "prompt", "prompt_tokens", "new_tokens", "passes", "queue_ns",
    "prefill_ns", "ttft_ns", "itl_p50_ns", "itl_p95_ns", "e2e_ns", "temperature", "seed", "reply",
)  # fmt: skip


def answer_rows(answers: Sequence[Attempt], lessons: Iterable[Lesson]) -> list[dict[str, object]]:
    """An answer with what its lesson says about the question; a question that is there no more keeps its id."""
    by_slug = {lesson.slug: lesson for lesson in lessons}
    return [_answer_row(one, by_slug.get(one.lesson)) for one in answers]


def _answer_row(one: Attempt, lesson: Lesson | None) -> dict[str, object]:
    kinds = ("predict", "check")
    block = next((found for kind in kinds if lesson and (found := lesson.find(kind, one.question))), None)
    return {
        "at": one.at.isoformat(timespec="milliseconds"),
        "lesson": one.lesson,
        "lesson_title": lesson.front.title if lesson else None,
        "question": one.question,
        "kind": block.name if block else None,
        "answer": list(one.answer) if isinstance(one.answer, tuple) else one.answer,
        "unit": Question.of(block).unit or None if block else None,
        "right": one.right,
    }


def _run_row(run: Run) -> dict[str, object]:
    header, measured = run.header, timings(run)
    return {
        "run_id": header.run_id,
        "created": header.created,
        "model": header.model.name,
        "device": header.device.name,
        "evidence": header.evidence,
        "prompt": header.prompt,
        "prompt_tokens": len(header.prompt_tokens),
        "new_tokens": len(run.emissions),
        "passes": len(run.passes),
        "queue_ns": measured.queue_ns,
        "prefill_ns": measured.prefill_ns,
        "ttft_ns": measured.ttft_ns,
        "itl_p50_ns": measured.itl_p50_ns,
        "itl_p95_ns": measured.itl_p95_ns,
        "e2e_ns": measured.e2e_ns,
        "temperature": header.sampling.temperature,
        "seed": header.sampling.seed,
        "reply": run.text,
    }


def _csv(columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> str:
    """RFC 4180, with a byte order mark so that spreadsheets read it as UTF-8."""
    text = io.StringIO(newline="")
    table = csv.writer(text)
    table.writerow(columns)
    table.writerows([_cell(row[column]) for column in columns] for row in rows)
    return "\ufeff" + text.getvalue()


def _cell(value: object) -> object:
    """A text that a spreadsheet would run as a formula gets an apostrophe in front, which spreadsheets do not show."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_STARTS_A_FORMULA) else value
