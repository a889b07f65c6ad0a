"""Lesson 12: the mean describes nobody, the unlucky lost their time in the queue, and the metric names are real."""

import re

import pytest

from engine.account.metrics import timings
from engine.serve.metrics import PREFIX, ServiceMetrics
from lessons.catalogue import lessons
from lessons.run_values import values_of
from tests.lessons import reading
from tests.lessons.instrument_values import published
from tests.lessons.story_run import story_run
from views.virtual_clock import play
from views.what_if_service import Chosen

LESSON = next(one for one in lessons() if one.slug == "measure-like-an-operator")


@pytest.fixture(scope="module")
def values():
    return published(LESSON)


@pytest.fixture(scope="module")
def waits():
    """(ttft, queue, prefill) in ns and the prompt length of each of the forty."""
    found = [(timings(run), len(run.header.prompt_tokens)) for run in play(Chosen(at_once=4, load_seed=2).setup()).runs]
    return sorted((times.ttft_ns, times.queue_ns, times.prefill_ns, length) for times, length in found)


def test_the_question_tells_the_mean_as_it_is(values):
    assert values["percentiles.ttft_mean"] == pytest.approx(0.5e9, rel=0.02), "the text says half a second"
    asked = reading.question(LESSON, "predict", "worst")
    assert asked.is_right(1.5, values) and asked.card_for(0.5, values) == "all-get-the-mean"


def test_hardly_anybody_waited_about_as_long_as_the_mean(waits, values):
    mean = sum(wait for wait, *_ in waits) / len(waits)
    assert sum(0.8 * mean < wait < 1.2 * mean for wait, *_ in waits) <= 3
    assert sum(wait < 0.8 * mean for wait, *_ in waits) > len(waits) / 2, "most were served much faster"
    assert "10 of 40 waited longer than a second" in reading.told(LESSON, "compare", "worst", values)


def test_the_unlucky_lost_their_time_in_the_queue(waits, values):
    slowest = waits[-10:]
    assert all(queue > 0.8 * wait for wait, queue, _, _ in slowest)
    assert any(length < 300 for *_, length in slowest), "the text names a short prompt among them"
    asked = reading.question(LESSON, "predict", "part")
    assert asked.is_right("queue", {})
    assert [asked.card_for(one, {}) for one in ("prefill", "decode")] == ["long-prompt", "long-reply"]


def test_more_places_shorten_the_tail_and_lengthen_the_gaps(values):
    found = play(Chosen(at_once=16, load_seed=2).setup())
    waits = sorted(timings(run).ttft_ns for run in found.runs)
    gaps = sorted(gap for run in found.runs for gap in timings(run).itl_ns)
    assert waits[-1] < values["percentiles.ttft_p99"] / 2
    assert gaps[int(len(gaps) * 0.99)] > values["percentiles.gap_p99"]


def test_every_metric_that_the_lesson_names_is_on_the_engines_page():
    named = re.findall(r"\| [^|]+ \| (.+) \|", LESSON.find("screen", "names").body)
    names = [name for cell in named for name in re.findall(r"`([a-z_]+)`", cell)]
    assert len(names) > 10
    usage = type("Usage", (), {"pages_used": 1, "pages_total": 2, "slots_used": 1, "slots_total": 2})()
    page = ServiceMetrics(lambda: (1, 2), lambda: usage).page().decode()
    assert [name for name in names if f"# TYPE {PREFIX}_{name}" not in page] == []


@pytest.mark.parametrize(("answer", "card"), [(62.5, "first-wait-inside"), (47.5, "one-gap-too-many"), (50, None)])
def test_the_check_leaves_the_first_wait_out(answer, card):
    check = reading.question(LESSON, "check", "tpot")
    assert check.is_right(50, {}) and check.card_for(answer, {}) == card


def test_every_card_can_be_reached():
    assert reading.cards_reached(LESSON) == reading.cards(LESSON)


def parts(queue_ms: float, prefill_ms: float, decode_ms: float) -> dict:
    ttft = queue_ms + prefill_ms
    times = {"queue": queue_ms, "prefill": prefill_ms, "ttft": ttft, "e2e": ttft + decode_ms}
    return {f"run.{name}": ms * 1e6 for name, ms in times.items()}


@pytest.mark.parametrize(
    ("run", "right", "cards"),
    [
        (parts(0.1, 2, 9), "decode", {"prefill": "reading-takes-long", "queue": "alone-there-is-no-queue"}),
        (parts(0.1, 60, 9), "prefill", {"decode": "writing-takes-long", "queue": "alone-there-is-no-queue"}),
        (parts(80, 2, 9), "queue", {"decode": "writing-takes-long", "prefill": "reading-takes-long"}),
    ],
)
def test_where_the_time_of_ones_own_request_went_is_told_by_its_run(run, right, cards):
    asked = reading.question(LESSON, "predict", "longest")
    assert asked.right_value(run) == right and asked.card_for(right, run) is None
    assert {guess: asked.card_for(guess, run) for guess in cards} == cards


def test_the_recorded_request_is_taken_apart_into_what_it_took_in_all():
    values = values_of(story_run())
    text = reading.told(LESSON, "compare", "longest", values)
    queue, prefill, decodes, first = (float(one) for one in re.findall(r"([\d.]+) ms", text))
    assert queue + prefill == pytest.approx(first, rel=0.01)
    assert first + decodes == pytest.approx(values["run.e2e"] / 1e6, rel=0.01)
