"""The checker names each kind of fault by file and line, and nothing else."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from engine.account.record_file import save
from lessons import catalogue
from lessons.check import check_files, check_lesson
from lessons.parse import parse_lesson
from lessons.typed_numbers import typed_numbers
from tests.lessons.story_run import PROMPT, story_run

ROOT = Path(__file__).resolve().parents[2]
PATH = Path("01-small.md")
GOOD = f"""---
title: Small
question: Why?
minutes: 2
model: story
prompt: "{"".join(PROMPT)}"
new_tokens: 10
recording: small
---

:::run
asks: passes
:::

:::predict passes
kind: number
answer: run.passes
near: asked.new_tokens + 1 -> extra

{{{{ asked.new_tokens }}}} new tokens: how many passes?
:::

:::flipbook
:::

:::screen after
title: After
after: passes
:::

:::compare passes
It took {{{{ run.ttft | ms }}}} until {{{{ run.first_new_token }}}}.
:::

:::depth code
source: engine.account.metrics:timings
:::

:::card extra
title: One too many
No.
:::
""".replace("title: One too many\n", "title: One too many\n\n")


@pytest.fixture(autouse=True)
def recordings(tmp_path, monkeypatch):
    monkeypatch.setattr(catalogue, "RECORDINGS", tmp_path)
    save(story_run(), tmp_path / "small.json")
    return tmp_path


def faults_of(text: str) -> list[str]:
    return [f"{fault.line}: {fault.message}" for fault in check_lesson(parse_lesson(text, PATH))]


def test_a_sound_lesson_has_no_faults():
    assert faults_of(GOOD) == []


@pytest.mark.parametrize(
    ("old", "new", "at", "words"),
    [
        (":::flipbook\n:::", ":::flipbok\n:::", ":::flipbok", "unknown directive :::flipbok"),
        (":::flipbook\n:::", ":::flipbook\n", ":::flipbook", "not closed"),
        ("answer: run.passes\n", "", ":::predict passes", "no answer:"),
        ("answer: run.passes", "answer: run.pases", "answer: run.pases", "unknown name `run.pases`"),
        ("kind: number", "kind: number\ncolour: red", "colour: red", "unknown setting 'colour'"),
        ("run.ttft | ms", "run.tftt | ms", "It took", "unknown name `run.tftt`"),
        ("run.ttft | ms", "run.ttft | bytes", "It took", "not for a time"),
        ("run.ttft | ms", "run.first_new_token + 1", "It took", "computes with a text"),
        ("It took", "It took 16 ms, no,", "It took", "the number 16 is typed"),
        ("title: After", "title: After 3 days", "title: After", "the number 3 is typed"),
        ("-> extra", "-> lost", "near:", "no :::card lost"),
        ("asks: passes", "asks: steps", "asks: steps", "no :::predict steps"),
        ("after: passes", "after: steps", "after: steps", "no :::predict steps"),
        (":::compare passes", ":::compare steps", ":::compare steps", "no :::predict steps"),
        ("metrics:timings", "metrics:timing", "source:", "no 'timing'"),
        ("engine.account.metrics:", "engine.account.metric:", "source:", "no module"),
        ("engine.account.metrics:timings", "os:system", "source:", "not a module of"),
        (":::depth code", ":::depth poetry", ":::depth poetry", "concept, maths, code"),
        (":::card extra", ":::card", ":::card", "needs an id"),
        (":::flipbook\n:::", ":::instrument microscope\n:::", ":::instrument", "must be one of"),
        (":::flipbook\n:::", ":::instrument memory\ncolour: red\n:::", "colour: red", "unknown setting 'colour'"),
        ("It took", "The [[kernel panic]] took", "The [[", "the glossary has no term 'kernel panic'"),
        ("It took", "A [[prefill]] and a [[prefill]] took", "A [[", "marked twice"),
        ("run.ttft | ms", "other.ttft | ms", "It took", "unknown name `other.ttft`"),
        ("run.ttft | ms", "shape.qwen27b.colour", "It took", "unknown name `shape.qwen27b.colour`"),
        ("run.ttft | ms", "shape.qwen27b.weight_bytes | ms", "It took", "not for a bytes"),
        ("recording: small\n", "", "---", "needs recording:"),
        ("recording: small", "recording: small\nserving: cache=lost", "---", "front matter: 'cache=lost'"),
        ("recording: small", "recording: small\nother: cache=recomputed", "---", "belong together"),
        ("recording: small", "recording: small\npreset: Only a label", "---", "preset: is written"),
        ("recording: small", "recording: small\npreset: Long | @lost | 5", "---", "no lessons/prompts/lost.txt"),
        ("kind: number", "kind: number\nwithin: some", "answer: run.passes", "within:"),
        ("kind: number", "kind: choice\noption: a | $x^2$\noption: b | No", "option: a", "takes no formula"),
        ("title: One too many", "title:", ":::card extra", "no title:"),
    ],
)
def test_a_fault_is_named_by_the_line_where_it_stands(old, new, at, words):
    assert GOOD.count(old) >= 1
    text = GOOD.replace(old, new, 1)
    assert_fault_at(text, at, words)


def assert_fault_at(text: str, at: str, words: str) -> None:
    """The checker says this of the first line that begins so."""
    found = faults_of(text)
    where = next(number for number, line in enumerate(text.splitlines(), 1) if line.startswith(at))
    assert any(fault.startswith(f"{where}: ") and words in fault for fault in found), found


def test_a_lesson_of_formulas_and_choices_needs_no_run():
    text = """---
title: Small
question: Why?
minutes: 2
---

:::predict larger
kind: choice
option: state | The state of {{ shape.qwen4b.state_bytes | bytes }}
option: cache | The [[KV cache]]
answer: state
near: cache -> extra

Which?
:::

:::instrument memory
:::

:::card extra
title: No

No.
:::
"""
    assert faults_of(text) == []
    assert any("the number 48 is typed" in fault for fault in faults_of(text.replace("The state of {{", "48 MiB {{")))
    assert any("one of the options" in fault for fault in faults_of(text.replace("answer: state", "answer: neither")))


CURVE = """:::predict passes
kind: curve
label: Kept
along: tokens held
at: 0, 10, 20
max: 500
answer: model.state_bytes / 1024 + x
near: x -> extra
"""


def with_curve(old: str = "", new: str = "") -> str:
    """The small lesson with a question that is drawn, spoilt in one place."""
    question = CURVE.replace(old, new, 1) if old else CURVE
    return GOOD.replace(GOOD[GOOD.index(":::predict") : GOOD.index("\n{{ asked")], question)


@pytest.mark.parametrize(
    ("old", "new", "at", "words"),
    [
        ("max: 500", "max: 100", "answer:", "leaves the drawing, which goes from 0 to 100"),
        ("near: x ->", "near: model.state_bytes / 1024 + x * 1.1 ->", "near:", "counts as right"),
        ("1024 + x", "1024 + y", "answer:", "unknown name `y`"),
        ("at: 0, 10, 20", "at: 0", "answer:", "3 to 12 marks"),
        ("along: tokens held", "along: 20 tokens", "along:", "the number 20 is typed"),
        ("answer: ", "given: base = 900\nanswer: check.base - ", "answer:", "leaves the drawing"),
    ],
)
def test_a_curve_must_fit_its_drawing_and_its_beliefs_must_be_told_from_it(old, new, at, words):
    assert_fault_at(with_curve(old, new), at, words)


def test_a_sound_curve_has_no_faults():
    assert faults_of(with_curve()) == []


def test_a_belief_is_told_from_the_right_curve_by_the_numbers_that_the_question_gives():
    """It was computed with 1 for each of them."""
    far_apart = "given: base = 300\nanswer: check.base + x\nnear: x -> extra\n"
    settings = CURVE[CURVE.index("answer:") :]
    assert faults_of(with_curve(settings, far_apart)) == []
    alike = far_apart.replace("near: x", "near: check.base + x + 1")
    assert_fault_at(with_curve(settings, alike), "near:", "counts as right")


def test_a_curve_that_an_instrument_gives_is_not_judged_by_what_stands_in_for_it():
    settings = CURVE[CURVE.index("answer:") :]
    measured = "answer: race.step, race.step * 2, race.step * 3\nnear: 1, 2, 3 -> extra\n"
    assert faults_of(with_curve(settings, measured) + "\n:::instrument race\n:::\n") == []


def test_an_id_used_twice_is_a_fault_at_the_second_place():
    text = GOOD + "\n:::card extra\ntitle: Again\n\nAgain.\n:::\n"
    (fault,) = faults_of(text)
    assert fault == f"{GOOD.count(chr(10)) + 2}: the id 'extra' is used twice"


def test_a_recording_that_is_missing_broken_or_of_another_prompt_is_a_fault(recordings):
    assert "no recording 'lost'" in faults_of(GOOD.replace("recording: small", "recording: lost"))[0]
    assert "another prompt" in faults_of(GOOD.replace("new_tokens: 10", "new_tokens: 11"))[0]
    (recordings / "broken.json").write_text('{"schema": "twospeeds.run/1", "events": [')
    assert "cut off" in faults_of(GOOD.replace("recording: small", "recording: broken"))[0]


def test_a_file_that_is_not_there_or_not_text_is_a_fault_not_a_crash(tmp_path):
    (tmp_path / "02-binary.md").write_bytes(b"\xff\xfe\x00")
    faults = check_files([tmp_path / "01-gone.md", tmp_path / "02-binary.md"])
    assert [fault.path.name for fault in faults] == ["01-gone.md", "02-binary.md"]


@pytest.mark.parametrize(
    "prose",
    [
        "It takes 16.3 ms.", "About 93 tokens/s", "some 384KiB of it", "It is ~5x faster", "**42** passes",
        "half, 50%, of it", "a list:\n\n- with 7 in it", "a | b\n- | -\n1 | 2",
    ],
)  # fmt: skip
def test_numbers_typed_into_prose_are_found(prose):
    assert list(typed_numbers(prose))


@pytest.mark.parametrize(
    "prose",
    [
        "Qwen3.5-4B in fp32, p50 and bf16", "see lesson 5 and pass 1", "`x = 16`", "$1 + (N - 1)$", "one, two, many",
        "[a paper](https://example.org/1706.03762)", "{{ 200 }} tokens", "1. a numbered list\n2. of things",
        "```\nfor i in range(16):\n```",
    ],
)  # fmt: skip
def test_what_is_not_a_measurement_is_let_through(prose):
    assert list(typed_numbers(prose)) == []


def test_the_line_of_a_typed_number_is_counted_within_its_paragraph():
    assert [line for line, _ in typed_numbers("one\ntwo\n\nthree and 3\nfour is 4\n")] == [3, 4]


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "lessons", *arguments], cwd=ROOT, capture_output=True, text=True)


def test_the_command_prints_file_line_and_message_and_fails(tmp_path):
    path = tmp_path / "01-small.md"
    path.write_text(GOOD.replace("It took", "It took 16 ms,"))
    answer = command("check", str(path))
    assert answer.returncode == 1
    assert re.search(rf"^{re.escape(str(path))}:\d+: the number 16 is typed", answer.stdout, re.MULTILINE)


def test_the_lessons_that_ship_have_no_faults():
    answer = command("check")
    n = sum(len(catalogue.lesson_files(language.name)) for language in catalogue.HOME.glob("??"))
    assert (answer.returncode, answer.stdout) == (0, f"{n} {'lesson' if n == 1 else 'lessons'}, no faults.\n")
