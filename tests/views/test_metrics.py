"""The timing cards: the right number with its unit, n beside a statistic, a blank with a reason where there is none."""

import msgspec

from engine.account.record import Queued, Run
from lessons.filters import significant
from tests.lessons.story_run import DECODE_NS, PREFILL_NS, PROMPT, QUEUE_NS, REPLY, story_run
from views.conditions import condition, condition_of_both
from views.evidence import labelled, source_line
from views.metrics import readings


def by_id(run):
    return {reading.id: reading for reading in readings(run)}


def test_a_finished_run_has_every_reading_with_its_unit():
    cards = by_id(story_run())
    assert {name: card.value for name, card in cards.items()} == {
        "queue": "0.500 ms",
        "ttft": "6.50 ms",
        "itl-p50": "2.00 ms",
        "itl-p95": "2.00 ms",
        "tpot": "2.00 ms",
        "prompt-rate": significant(len(PROMPT) / (PREFILL_NS / 1e9)),
        "output-rate": significant(1e9 / DECODE_NS),
    }
    assert QUEUE_NS + PREFILL_NS == 6_500_000
    assert all(card.how for card in cards.values())


def test_statistics_carry_their_n_and_single_measurements_do_not():
    cards = by_id(story_run())
    n = len(REPLY) - 1
    assert {name: card.n for name, card in cards.items()} == {
        "queue": None, "ttft": None, "itl-p50": n, "itl-p95": n, "tpot": n, "prompt-rate": None, "output-rate": n,
    }  # fmt: skip


def test_one_token_has_no_gap_and_the_cards_say_why_instead_of_zero():
    cards = by_id(story_run(reply=REPLY[:1]))
    for name in ("itl-p50", "itl-p95", "tpot", "output-rate"):
        assert cards[name].value is None and "second token" in cards[name].reason
    assert cards["ttft"].value is not None


def test_a_run_stopped_in_the_queue_has_blanks_everywhere():
    assert all(card.value is None and card.reason for card in readings(story_run(reply=[], reason="cancelled")))


def test_reading_and_writing_speed_are_never_one_number():
    cards = by_id(story_run())
    assert cards["prompt-rate"].value != cards["output-rate"].value
    assert not any("total" in card.label.lower() or "overall" in card.label.lower() for card in cards.values())


def shared(run, n, ahead):
    """The same run as if `n` had taken part in each of its passes, behind so many others."""
    events = [
        msgspec.structs.replace(one, shared_by=n) if hasattr(one, "shared_by") else one
        for one in run.events
        if not isinstance(one, Queued)
    ]
    return Run([events[0], Queued(1, 0, ahead), *events[1:]])


def test_every_timing_says_whether_it_was_measured_alone_or_under_load_and_what_that_means():
    alone, busy, behind = story_run(), shared(story_run(), 5, 7), shared(story_run(), 1, 1)
    assert condition(alone).label == "measured alone" and "measured alone" in source_line(alone, recorded=False)
    assert condition(busy).label == condition(behind).label == "measured under load"
    assert "7 requests were before it" in condition(busy).meaning and "by up to 5 requests" in condition(busy).meaning
    assert "1 request was before it" in condition(behind).meaning
    assert condition_of_both(alone, busy).label == "measured under load"
    assert labelled("measured", condition(alone)) == "measured alone"
    assert labelled("recorded", condition(busy)) == "recorded, measured under load"


def test_where_nothing_was_measured_nothing_is_said_of_the_company():
    simulated = story_run()
    simulated.events[0] = msgspec.structs.replace(simulated.header, evidence="simulated")
    assert condition(simulated) is None and condition(story_run(reply=[], reason="cancelled")) is None
    assert labelled("simulated", None) == "simulated"
