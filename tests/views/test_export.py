"""What a learner takes along: the files read back with the standard library and give what was kept."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, datetime

import msgspec

from engine.account.metrics import timings
from engine.account.record import Run
from engine.account.record_file import loads
from lessons.catalogue import lessons
from tests.lessons.story_run import story_run
from views.attempt_store import Attempt
from views.export import RUN_COLUMNS, answers_csv, runs_csv, work_json

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
ANSWERS = [
    Attempt("one-request-two-phases", "passes", 11, None, NOON),
    Attempt("one-request-two-phases", "decode-passes", 24, True, NOON),
    Attempt("a-lesson-of-old", "gone", "=cmd()", False, NOON),
]


def read(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text.removeprefix("\ufeff"), newline="")))


def asked(prompt: str) -> Run:
    run = story_run()
    return Run([msgspec.structs.replace(run.header, prompt=prompt), *run.events[1:]])


def test_the_json_holds_every_answer_and_whole_runs_that_load_again():
    run = story_run()
    work = json.loads(work_json(ANSWERS, [run], lessons()))
    assert work["schema"] == "twospeeds.work/1"
    assert [(one["question"], one["answer"], one["right"], one["kind"]) for one in work["answers"]] == [
        ("passes", 11, None, "predict"),
        ("decode-passes", 24, True, "check"),
        ("gone", "=cmd()", False, None),
    ]
    assert loads(json.dumps(work["runs"][0]).encode()) == run


def test_the_answers_table_names_lesson_and_unit_and_leaves_blank_what_is_not_known():
    first, second, third = read(answers_csv(ANSWERS, lessons()))
    assert first["lesson_title"] == "One request, two phases" and first["unit"] == "passes" and first["right"] == ""
    assert (second["answer"], second["right"]) == ("24", "True")
    assert (third["lesson_title"], third["kind"]) == ("", "")


def test_a_drawn_curve_is_a_list_of_numbers_in_both_files():
    drawn = [Attempt("what-the-model-remembers", "growth", (0, 2.5, 400), None, NOON)]
    (told,) = json.loads(work_json(drawn, [], lessons()))["answers"]
    (row,) = read(answers_csv(drawn, lessons()))
    assert told["answer"] == json.loads(row["answer"]) == [0, 2.5, 400] and told["unit"] == "KiB"


def test_no_cell_is_a_formula_to_a_spreadsheet_and_line_breaks_stay_in_their_cell():
    prompt = '=HYPERLINK("x")\nand "more", too'
    (row,) = read(runs_csv([asked(prompt)]))
    assert row["prompt"] == f"'{prompt}"
    assert read(answers_csv(ANSWERS, []))[2]["answer"] == "'=cmd()"


def test_the_runs_table_gives_the_record_s_own_times():
    run = story_run()
    (row,) = read(runs_csv([run]))
    assert tuple(row) == RUN_COLUMNS
    assert int(row["ttft_ns"]) == timings(run).ttft_ns and int(row["passes"]) == len(run.passes)
